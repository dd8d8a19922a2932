/* Reports each completion twice. */
#include "between.h"

static void done_twice(mqcore_sink* sink, uint32_t slot, int32_t status) {
    pass_done(sink, slot, status);
    pass_done(sink, slot, status);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_sink.done = done_twice;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
