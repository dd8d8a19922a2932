/* Crashes in connect(). */
#include "crash.h"
#include "good.h"

static int32_t crash_in_connect(void* self, const mqcore_run* run) {
    crash();
    return good_connect(self, run);
}

DRIVER(good_create, crash_in_connect, good_drive, good_disconnect, good_destroy)
