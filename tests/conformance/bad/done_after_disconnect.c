/* Completes a message after disconnect() has returned. */
#define _POSIX_C_SOURCE 200809L

#include "between.h"

#include <pthread.h>
#include <time.h>

static void* call_later(void* context) {
    const struct timespec pause = {.tv_nsec = 20000000};

    nanosleep(&pause, NULL);
    core_sink->done(core_sink, 0, MQCORE_OK);
    return context;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    return good_drive(self, source, sink);
}

static int32_t disconnect(void* self) {
    pthread_t thread;

    if (core_sink && pthread_create(&thread, NULL, call_later, NULL) == 0)
        pthread_detach(thread);
    return good_disconnect(self);
}

DRIVER(good_create, good_connect, drive, disconnect, good_destroy)
