/* Never returns from disconnect(). */
#define _POSIX_C_SOURCE 200809L

#include "good.h"
#include "hang.h"

static int32_t disconnect(void* self) {
    hang();
    return good_disconnect(self);
}

DRIVER(good_create, good_connect, good_drive, disconnect, good_destroy)
