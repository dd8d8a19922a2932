/* Drops every tenth message and reports it as done. */
#include "between.h"

static int32_t next_but_one(mqcore_source* source, const mqcore_message** message) {
    static unsigned count;
    int32_t answer = pass_next(source, message);

    while (answer == MQCORE_SEND && ++count % 10 == 0) {
        core_sink->done(core_sink, (*message)->slot, MQCORE_OK);
        answer = pass_next(source, message);
    }
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_but_one;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
