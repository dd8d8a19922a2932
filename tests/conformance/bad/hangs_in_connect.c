/* Never returns from connect(). */
#define _POSIX_C_SOURCE 200809L

#include "good.h"
#include "hang.h"

static int32_t connect_forever(void* self, const mqcore_run* run) {
    hang();
    return good_connect(self, run);
}

DRIVER(good_create, connect_forever, good_drive, good_disconnect, good_destroy)
