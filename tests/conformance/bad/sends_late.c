/* Looks for due messages every 40 ms only. */
#include "between.h"

static int32_t next_sleepily(mqcore_source* source, const mqcore_message** message) {
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_WAIT)
        source->wake_ns += 40000000u;
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_sleepily;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
