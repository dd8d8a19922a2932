/* destroy() takes for granted that connect() worked. */
#include "crash.h"
#include "good.h"

static int32_t connect_and_remember(void* opaque, const mqcore_run* run) {
    const int32_t status = good_connect(opaque, run);

    ((good*)opaque)->reached = status == MQCORE_OK ? kAccepted : kOpened;
    return status;
}

static void destroy(void* opaque) {
    if (((good*)opaque)->reached == kOpened)
        crash();
    good_destroy(opaque);
}

DRIVER(good_create, connect_and_remember, good_drive, good_disconnect, destroy)
