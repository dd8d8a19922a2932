/* Asks for the next message after it was told to stop. */
#include "between.h"

static int32_t next_again(mqcore_source* source, const mqcore_message** message) {
    const int32_t answer = pass_next(source, message);

    return answer == MQCORE_STOP ? pass_next(source, message) : answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_again;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
