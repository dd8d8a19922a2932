/* Crashes in disconnect(). */
#include "crash.h"
#include "good.h"

static int32_t disconnect(void* self) {
    crash();
    return good_disconnect(self);
}

DRIVER(good_create, good_connect, good_drive, disconnect, good_destroy)
