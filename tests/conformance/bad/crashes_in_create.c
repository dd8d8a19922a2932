/* Crashes in create(). */
#include "crash.h"
#include "good.h"

static int32_t create(const mqcore_host* host, void** self) {
    crash();
    return good_create(host, self);
}

DRIVER(create, good_connect, good_drive, good_disconnect, good_destroy)
