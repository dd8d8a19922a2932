/* Says that it has subscribed when SUBACK refused. */
#include "silent.h"

static int32_t connect_without_subscription(void* opaque, const mqcore_run* run) {
    const good* self = opaque;
    const int32_t status = good_connect(opaque, run);

    return status == MQCORE_NETWORK && self->reached == kAccepted ? MQCORE_OK : status;
}

DRIVER(create_silently, connect_without_subscription, good_drive, good_disconnect, good_destroy)
