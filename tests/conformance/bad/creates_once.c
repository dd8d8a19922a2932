/* Its library can be started once in a process. */
#include "good.h"

static int32_t create(const mqcore_host* host, void** self) {
    static int times;

    if (times++ > 0) {
        host->fail(host, MQCORE_LIBRARY, "the library was started before");
        return MQCORE_LIBRARY;
    }
    return good_create(host, self);
}

DRIVER(create, good_connect, good_drive, good_disconnect, good_destroy)
