/* Completes QoS 1 messages when it has sent them, not when they are acknowledged. */
#include "between.h"

enum { kAcknowledgedLater = 1000 }; /* slots from here on are ours: beyond any window of a check */

static int32_t next_and_done(mqcore_source* source, const mqcore_message** message) {
    static mqcore_message sent;
    static uint16_t count;
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_SEND && (*message)->qos > 0) {
        core_sink->done(core_sink, (*message)->slot, MQCORE_OK);
        sent = **message;
        sent.slot = (uint16_t)(kAcknowledgedLater + count++ % 60000u);
        *message = &sent;
    }
    return answer;
}

static void done_unless_later(mqcore_sink* sink, uint32_t slot, int32_t status) {
    if (slot < kAcknowledgedLater)
        pass_done(sink, slot, status);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_and_done;
    my_sink.done = done_unless_later;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
