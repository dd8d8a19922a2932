/* What Go calls of driver.h: it cannot call a function pointer. */
#ifndef MQCORE_GO_SHIM_H
#define MQCORE_GO_SHIM_H

#include "mqcore/driver.h"

/* An answer of mqcore_source.next() by value, so that nothing of Go's memory crosses. */
typedef struct mqcore_go_answer {
    int32_t kind;
    const mqcore_message* message;
    uint64_t wake_ns;
} mqcore_go_answer;

mqcore_go_answer mqcore_go_next(mqcore_source* source);
void mqcore_go_wait(mqcore_source* source);
void mqcore_go_done(mqcore_sink* sink, uint32_t slot, int32_t status);
void mqcore_go_received(mqcore_sink* sink, void* payload, uint32_t payload_bytes, uint32_t filter,
                        uint32_t connection);
void mqcore_go_log(const mqcore_host* host, int32_t level, char* text);
void mqcore_go_fail(const mqcore_host* host, int32_t status, char* text);
void mqcore_go_note(const mqcore_host* host, char* key, char* value);
uint64_t mqcore_go_now(void);

#endif
