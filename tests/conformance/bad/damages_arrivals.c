/* Hands on arrivals with a changed last byte. */
#include <string.h>

#include "between.h"

static void receive_damaged(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                            uint32_t filter, uint32_t connection) {
    static uint8_t copy[1 << 20];

    if (payload_bytes > 20) {
        memcpy(copy, payload, payload_bytes);
        copy[payload_bytes - 1] ^= 1;
        payload = copy;
    }
    pass_received(sink, payload, payload_bytes, filter, connection);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.received = receive_damaged;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
