/* Hands on every arrival twice. */
#include "between.h"

static void receive_twice(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                          uint32_t filter, uint32_t connection) {
    pass_received(sink, payload, payload_bytes, filter, connection);
    pass_received(sink, payload, payload_bytes, filter, connection);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.received = receive_twice;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
