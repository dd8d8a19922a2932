/* Takes a message when the one before is completed, whatever the window allows. It gives up on one that is
 * not completed within a third of a second, so that it can be told to stop. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "between.h"

enum { kPatienceNs = 300000000 };

static int in_flight;
static uint64_t taken_ns;

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int32_t next_alone(mqcore_source* source, const mqcore_message** message) {
    int32_t answer;

    if (in_flight > 0 && now_ns() < taken_ns + kPatienceNs) {
        source->wake_ns = taken_ns + kPatienceNs;
        return MQCORE_WAIT;
    }
    answer = pass_next(source, message);
    if (answer == MQCORE_SEND) {
        ++in_flight;
        taken_ns = now_ns();
    }
    return answer;
}

static void done_alone(mqcore_sink* sink, uint32_t slot, int32_t status) {
    --in_flight;
    pass_done(sink, slot, status);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    in_flight = 0;
    stand_between(source, sink);
    my_source.next = next_alone;
    my_sink.done = done_alone;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
