/* Names a filter with every arrival, though its library does not dispatch by filter. */
#include "between.h"

static void received_by_first(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                              uint32_t filter, uint32_t connection) {
    (void)filter;
    pass_received(sink, payload, payload_bytes, 0, connection);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.received = received_by_first;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
