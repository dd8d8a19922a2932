/* Writes a later time of publishing into the message: its latency would look shorter. */
#include <string.h>

#include "between.h"

static int32_t next_renewed(mqcore_source* source, const mqcore_message** message) {
    static mqcore_message changed;
    static uint8_t payload[1 << 20];
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_SEND && (*message)->payload_bytes >= 8) {
        uint64_t stamp;

        changed = **message;
        memcpy(payload, changed.payload, changed.payload_bytes);
        memcpy(&stamp, payload, sizeof stamp);
        stamp += 1000;
        memcpy(payload, &stamp, sizeof stamp);
        changed.payload = payload;
        *message = &changed;
    }
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_renewed;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
