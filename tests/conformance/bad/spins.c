/* Never waits: asks again at once, whatever wake_ns says. */
#include "between.h"

static int32_t next_at_once(mqcore_source* source, const mqcore_message** message) {
    const int32_t answer = pass_next(source, message);

    source->wake_ns = 0;
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_at_once;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
