/* Never returns from drive(). */
#define _POSIX_C_SOURCE 200809L

#include "good.h"
#include "hang.h"

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    hang();
    return good_drive(self, source, sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
