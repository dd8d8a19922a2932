/* Keeps asking for messages after the connection is gone, and ends as if nothing had happened. */
#include "silent.h"

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    good* it = self;
    const mqcore_message* message;
    int32_t status;

    silent = *it->host;
    silent.fail = say_nothing;
    it->host = &silent;
    status = good_drive(self, source, sink);
    while (status != MQCORE_OK) {
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            sink->done(sink, message->slot, MQCORE_NETWORK);
            break;
        case MQCORE_STOP:
            return MQCORE_OK;
        default:
            source->wait(source);
        }
    }
    return status;
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
