/* Crashes in drive(). */
#include "crash.h"
#include "good.h"

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    crash();
    return good_drive(self, source, sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
