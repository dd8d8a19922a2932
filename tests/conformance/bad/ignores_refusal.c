/* Says that it is connected when CONNACK refused. */
#include "silent.h"

static int32_t connect_although_refused(void* opaque, const mqcore_run* run) {
    const good* self = opaque;
    const int32_t status = good_connect(opaque, run);

    return status == MQCORE_NETWORK && self->reached == kOpened ? MQCORE_OK : status;
}

DRIVER(create_silently, connect_although_refused, good_drive, good_disconnect, good_destroy)
