/* Drives a hosted driver by hand, without a worker: what a worker never does, the table still allows.
 * Twice in one process: create, twice connect - drive - disconnect, destroy. Prints "messages done
 * received" of each drive and exits with 1 at the first status that is not OK.
 *
 *     life HOST.so DRIVER_FOLDER ENVIRONMENT MESSAGES */
#include "mqcore/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 8, PAYLOAD = 64 };

static long limit, sent, done_count, received_count;
static mqcore_message messages[WINDOW];
static int is_out[WINDOW];

static int32_t next(mqcore_source* source, const mqcore_message** message) {
    source->wake_ns = 0;
    if (sent == limit)
        return done_count == limit ? MQCORE_STOP : MQCORE_DRAIN;
    for (int slot = 0; slot < WINDOW; ++slot)
        if (!is_out[slot]) {
            is_out[slot] = 1;
            ++sent;
            *message = &messages[slot];
            return MQCORE_SEND;
        }
    return MQCORE_WAIT;
}

static void wait_for_it(mqcore_source* source) { (void)source; }

static void done(mqcore_sink* sink, uint32_t slot, int32_t status) {
    (void)sink;
    if (slot >= WINDOW || !is_out[slot] || status != MQCORE_OK) {
        fprintf(stderr, "done(%u, %d) for a slot that is not out\n", slot, status);
        exit(1);
    }
    is_out[slot] = 0;
    ++done_count;
}

static void received(mqcore_sink* sink, const void* payload, uint32_t bytes, uint32_t filter,
                     uint32_t connection) {
    (void)sink, (void)filter, (void)connection;
    if (bytes != PAYLOAD || memcmp(payload, messages[0].payload, bytes) != 0) {
        fprintf(stderr, "another payload came back\n");
        exit(1);
    }
    ++received_count;
}

static const void* extension(const mqcore_host* host, const char* id) {
    (void)host, (void)id;
    return NULL;
}
static void log_line(const mqcore_host* host, int32_t level, const char* text) {
    (void)host;
    fprintf(stderr, "log %d: %s\n", level, text);
}
static void note(const mqcore_host* host, const char* key, const char* value) {
    (void)host, (void)key, (void)value;
}

static void must(int32_t status, const char* what) {
    if (status != MQCORE_OK) {
        fprintf(stderr, "%s returned %d\n", what, status);
        exit(1);
    }
}

int main(int count, char** arguments) {
    static uint8_t payload[PAYLOAD];
    const char* topic = "t/0";
    mqcore_host host = {.size = sizeof host,
                        .abi_major = MQCORE_ABI_MAJOR,
                        .abi_minor = MQCORE_ABI_MINOR,
                        .version = "test",
                        .extension = extension,
                        .log = log_line,
                        .fail = log_line,
                        .note = note};
    mqcore_run run = {.size = sizeof run,
                      .protocol = MQCORE_V311,
                      .host = "",
                      .client_id = "life",
                      .topics = &topic,
                      .filters = &topic,
                      .topic_count = 1,
                      .filter_count = 1,
                      .window = WINDOW,
                      .payload_bytes_max = PAYLOAD,
                      .connection_count = 1};
    mqcore_source source = {.size = sizeof source, .next = next, .wait = wait_for_it};
    mqcore_sink sink = {.size = sizeof sink, .done = done, .received = received};
    if (count != 5)
        return 2;
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const mqcore_driver* (*entry)(const char*);
    *(void**)&entry = dlsym(library, "mqcore_driver_entry");
    const mqcore_driver* driver = entry(arguments[2]);
    if (!driver || driver != entry(arguments[2]) || entry("/another/folder")) {
        fprintf(stderr, "the entry must give one table for one folder\n");
        return 1;
    }
    host.environment = arguments[3];
    limit = atol(arguments[4]);
    for (uint16_t slot = 0; slot < WINDOW; ++slot)
        messages[slot] = (mqcore_message){
            .payload = payload, .payload_bytes = PAYLOAD, .slot = slot, .properties = MQCORE_NONE};
    for (int life = 0; life < 2; ++life) {
        void* self = NULL;
        must(driver->create(&host, &self), "create");
        for (int connection = 0; connection < 2; ++connection) {
            sent = done_count = received_count = 0;
            must(driver->connect(self, &run), "connect");
            must(driver->drive(self, &source, &sink), "drive");
            must(driver->disconnect(self), "disconnect");
            printf("%ld %ld %ld\n", sent, done_count, received_count);
        }
        driver->destroy(self);
    }
    return 0;
}
