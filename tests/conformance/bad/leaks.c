/* Keeps a copy of every message for ever. */
#include <stdlib.h>
#include <string.h>

#include "between.h"

static void* kept; /* the last one */

static int32_t next_and_keep(mqcore_source* source, const mqcore_message** message) {
    const int32_t answer = pass_next(source, message);

    if (answer == MQCORE_SEND && (*message)->payload_bytes > 0) {
        kept = malloc((*message)->payload_bytes);
        memcpy(kept, (*message)->payload, (*message)->payload_bytes);
    }
    return answer;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    stand_between(source, sink);
    my_source.next = next_and_keep;
    return good_drive(self, &my_source, &my_sink);
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
