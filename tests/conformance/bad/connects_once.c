/* Cannot connect again after disconnect(). */
#include "good.h"

static int32_t connect_once(void* opaque, const mqcore_run* run) {
    static int times;
    good* self = opaque;

    if (times++ > 0) {
        self->host->fail(self->host, MQCORE_LIBRARY, "it was connected before");
        return MQCORE_LIBRARY;
    }
    return good_connect(opaque, run);
}

DRIVER(good_create, connect_once, good_drive, good_disconnect, good_destroy)
