/* Takes a second and a half to notice that it is told to stop. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "between.h"

static int32_t next_late(mqcore_source* source, const mqcore_message** message) {
    const struct timespec late = {.tv_sec = 1, .tv_nsec = 500000000};
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_STOP)
        nanosleep(&late, NULL);
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_late;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
