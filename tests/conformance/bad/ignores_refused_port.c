/* Says that it is connected when the port is closed. */
#include "silent.h"

static int32_t connect_to_nobody(void* opaque, const mqcore_run* run) {
    const good* self = opaque;
    const int32_t status = good_connect(opaque, run);

    return status == MQCORE_NETWORK && self->reached == kNothing ? MQCORE_OK : status;
}

DRIVER(create_silently, connect_to_nobody, good_drive, good_disconnect, good_destroy)
