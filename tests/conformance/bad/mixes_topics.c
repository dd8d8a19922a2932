/* Publishes everything on the first topic. */
#include "between.h"

static int32_t next_on_first(mqcore_source* source, const mqcore_message** message) {
    static mqcore_message changed;
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_SEND) {
        changed = **message;
        changed.topic = 0;
        *message = &changed;
    }
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_on_first;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
