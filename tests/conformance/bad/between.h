/* A source and a sink that stand between the good driver and the core: a bad driver replaces one of
 * their functions. One driver, one run a process: they are static. */
#ifndef BETWEEN_H
#define BETWEEN_H

#include "good.h"

static mqcore_source* core_source;
static mqcore_sink* core_sink;
static mqcore_source my_source;
static mqcore_sink my_sink;

static inline int32_t pass_next(mqcore_source* source, const mqcore_message** message) {
    const int32_t answer = core_source->next(core_source, message);

    source->wake_ns = core_source->wake_ns;
    return answer;
}

static inline void pass_wait(mqcore_source* source) {
    (void)source;
    core_source->wait(core_source);
}

static inline void pass_done(mqcore_sink* sink, uint32_t slot, int32_t status) {
    (void)sink;
    core_sink->done(core_sink, slot, status);
}

static inline void pass_received(mqcore_sink* sink, const void* payload, uint32_t payload_bytes,
                                 uint32_t filter, uint32_t connection) {
    (void)sink;
    core_sink->received(core_sink, payload, payload_bytes, filter, connection);
}

static inline void stand_between(mqcore_source* source, mqcore_sink* sink) {
    core_source = source;
    core_sink = sink;
    my_source = (mqcore_source){.size = sizeof my_source, .next = pass_next, .wait = pass_wait};
    my_sink = (mqcore_sink){.size = sizeof my_sink, .done = pass_done, .received = pass_received};
}

#endif
