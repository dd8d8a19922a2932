/* Takes any QoS that is granted. */
#include "silent.h"

static int32_t connect_at_any_qos(void* opaque, const mqcore_run* run) {
    const good* self = opaque;
    const int32_t status = good_connect(opaque, run);

    return status == MQCORE_UNSUPPORTED && self->reached == kAccepted ? MQCORE_OK : status;
}

DRIVER(create_silently, connect_at_any_qos, good_drive, good_disconnect, good_destroy)
