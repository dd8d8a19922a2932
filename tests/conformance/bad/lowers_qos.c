/* Publishes at QoS 0 what it was asked to publish at QoS 1. */
#include "between.h"

static int32_t next_at_qos0(mqcore_source* source, const mqcore_message** message) {
    static mqcore_message lowered;
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_SEND) {
        lowered = **message;
        lowered.qos = 0;
        *message = &lowered;
    }
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_at_qos0;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
