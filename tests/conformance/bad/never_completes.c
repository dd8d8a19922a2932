/* Never reports a completion. */
#include "between.h"

static void keep_quiet(mqcore_sink* sink, uint32_t slot, int32_t status) {
    (void)sink;
    (void)slot;
    (void)status;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.done = keep_quiet;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
