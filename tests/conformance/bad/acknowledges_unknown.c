/* Acknowledges a message that it was never sent, besides the one it was. */
#include <unistd.h>

#include "between.h"

static int connection;

static void receive_and_acknowledge(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                                    uint32_t filter, uint32_t index) {
    static const uint8_t kPuback[] = {0x40, 2, 0xff, 0xf0};

    pass_received(sink, payload, payload_bytes, filter, index);
    (void)!write(connection, kPuback, sizeof kPuback);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    connection = ((const good*)self)->socket;
    my_sink.received = receive_and_acknowledge;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
