/* Asks for messages from a thread of its own. */
#include "good.h"

#include <pthread.h>

typedef struct call {
    void* self;
    mqcore_source* source;
    mqcore_sink* sink;
    int32_t status;
} call;

static void* run(void* context) {
    call* it = context;

    it->status = good_drive(it->self, it->source, it->sink);
    return NULL;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    call it = {self, source, sink, MQCORE_LIBRARY};
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, &it) != 0)
        return MQCORE_LIBRARY;
    pthread_join(thread, NULL);
    return it.status;
}

DRIVER(good_create, good_connect, drive, good_disconnect, good_destroy)
