/* A driver that exports, beside its entry, functions and data with the names of another driver's, and uses a
 * library of the same name as another driver's. What it found itself calling, it says as notes. */
#define _GNU_SOURCE

#include "mqcore/driver.h"
#include "shared.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

/* Exported on purpose, as a careless driver does. */
MQCORE_EXPORT extern int namesake_state;
MQCORE_EXPORT int namesake_version(void);
MQCORE_EXPORT int mqtt_client_version(void); /* of a library that was linked into it */

int namesake_state = VERSION;
int namesake_version(void) { return VERSION; }
int mqtt_client_version(void) { return 100 * VERSION; }

static void say(const mqcore_host* host, const char* key, int value) {
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    host->note(host, key, text);
}

static int add_object(struct dl_phdr_info* object, size_t bytes, void* list) {
    const char* slash = strrchr(object->dlpi_name, '/');

    (void)bytes;
    strncat(list, slash ? slash + 1 : object->dlpi_name, 1000 - strlen(list));
    strncat(list, " ", 1000 - strlen(list));
    return 0;
}

static int32_t create(const mqcore_host* host, void** self) {
    char objects[1001] = "";

    namesake_state += 10;
    say(host, "own function", namesake_version());
    say(host, "own data", namesake_state);
    say(host, "linked function", mqtt_client_version());
    say(host, "library", shared_version());
    say(host, "library's data", shared_count());
    dl_iterate_phdr(add_object, objects);
    host->note(host, "objects in the process", objects);
    *self = &namesake_state;
    host->fail(host, MQCORE_UNSUPPORTED, "it has said what it found");
    return MQCORE_UNSUPPORTED;
}

static int32_t connect_all(void* self, const mqcore_run* run) {
    (void)self;
    (void)run;
    return MQCORE_UNSUPPORTED;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    (void)self;
    (void)source;
    (void)sink;
    return MQCORE_UNSUPPORTED;
}

static int32_t disconnect(void* self) {
    (void)self;
    return MQCORE_OK;
}

static void destroy(void* self) { (void)self; }

static const mqcore_info kInfo = {.size = sizeof(mqcore_info),
                                  .shape = MQCORE_SHAPE_SYNC,
                                  .id = DRIVER_ID,
                                  .library = "shared",
                                  .protocols = MQCORE_V311,
                                  .publish_qos = MQCORE_QOS1};
static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
                                      .size = sizeof(mqcore_driver),
                                      .abi_major = MQCORE_ABI_MAJOR,
                                      .abi_minor = MQCORE_ABI_MINOR,
                                      .info = &kInfo,
                                      .create = create,
                                      .connect = connect_all,
                                      .drive = drive,
                                      .disconnect = disconnect,
                                      .destroy = destroy};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
