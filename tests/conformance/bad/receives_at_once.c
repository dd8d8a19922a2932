/* Reports its first two large arrivals from two threads at the same time. That they meet does not depend on
 * the machine: the end of the first payload cannot be read until the second is being reported. */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "between.h"

enum { kLarge = 200000, kBytes = 1 << 20, kPage = 4096 };

static uint8_t* pages; /* of the first arrival, which ends where they end */
static uint32_t first_bytes, first_connection;
static atomic_int is_inside;

static void sleep_ms(long ms) {
    const struct timespec time = {.tv_sec = 0, .tv_nsec = ms * 1000000};

    nanosleep(&time, NULL);
}

/* The core reads the last page of the first payload: it is inside received() now. */
static void open_last_page(int signal_number) {
    (void)signal_number;
    atomic_store(&is_inside, 1);
    sleep_ms(50);
    mprotect(pages + kBytes - kPage, kPage, PROT_READ);
}

static void* report_first(void* nothing) {
    pass_received(NULL, pages + kBytes - first_bytes, first_bytes, MQCORE_NONE, first_connection);
    return nothing;
}

static void received_two_at_once(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                                 uint32_t filter, uint32_t connection) {
    static int count;
    pthread_t thread;

    if (payload_bytes < kLarge || count >= 2) {
        pass_received(sink, payload, payload_bytes, filter, connection);
    } else if (count++ == 0) {
        pages = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(pages + kBytes - payload_bytes, payload, payload_bytes);
        mprotect(pages + kBytes - kPage, kPage, PROT_NONE);
        first_bytes = payload_bytes;
        first_connection = connection;
    } else {
        signal(SIGSEGV, open_last_page);
        pthread_create(&thread, NULL, report_first, NULL);
        while (!atomic_load(&is_inside))
            sleep_ms(1);
        pass_received(sink, payload, payload_bytes, filter, connection);
        pthread_join(thread, NULL);
        signal(SIGSEGV, SIG_DFL);
    }
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.received = received_two_at_once;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
