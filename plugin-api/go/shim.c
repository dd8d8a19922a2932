#include "shim.h"

#include "_cgo_export.h"

#include <time.h>

mqcore_go_answer mqcore_go_next(mqcore_source* source) {
    mqcore_go_answer answer = {0, NULL, 0};

    answer.kind = source->next(source, &answer.message);
    answer.wake_ns = source->wake_ns;
    return answer;
}

void mqcore_go_wait(mqcore_source* source) { source->wait(source); }

void mqcore_go_done(mqcore_sink* sink, uint32_t slot, int32_t status) {
    sink->done(sink, slot, status);
}

void mqcore_go_received(mqcore_sink* sink, void* payload, uint32_t payload_bytes, uint32_t filter,
                        uint32_t connection) {
    sink->received(sink, payload, payload_bytes, filter, connection);
}

void mqcore_go_log(const mqcore_host* host, int32_t level, char* text) {
    host->log(host, level, text);
}

void mqcore_go_fail(const mqcore_host* host, int32_t status, char* text) {
    host->fail(host, status, text);
}

void mqcore_go_note(const mqcore_host* host, char* key, char* value) {
    host->note(host, key, value);
}

uint64_t mqcore_go_now(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* An instance is a handle of Go's, never a pointer into its memory. */
static int32_t create(const mqcore_host* host, void** self) {
    const uintptr_t handle = mqcoreGoCreate((mqcore_host*)host);

    *self = (void*)handle;
    return handle != 0 ? MQCORE_OK : MQCORE_LIBRARY;
}

static int32_t connect_(void* self, const mqcore_run* run) {
    return mqcoreGoConnect((uintptr_t)self, (mqcore_run*)run);
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    return mqcoreGoDrive((uintptr_t)self, source, sink);
}

static int32_t disconnect(void* self) { return mqcoreGoDisconnect((uintptr_t)self); }

static void destroy(void* self) { mqcoreGoDestroy((uintptr_t)self); }

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    static mqcore_info info;
    static const mqcore_driver kDriver = {
        .magic = MQCORE_MAGIC,
        .size = sizeof(mqcore_driver),
        .abi_major = MQCORE_ABI_MAJOR,
        .abi_minor = MQCORE_ABI_MINOR,
        .info = &info,
        .create = create,
        .connect = connect_,
        .drive = drive,
        .disconnect = disconnect,
        .destroy = destroy,
    };

    (void)driver_folder;
    if (info.size == 0)
        mqcoreGoClaims(&info); /* waits until Go's runtime has started */
    return &kDriver;
}
