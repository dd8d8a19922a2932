/* driver.h alone, as a driver in C includes it. */
#include "mqcore/driver.h"

static int32_t create(const mqcore_host* host, void** self) {
    host->note(host, "library.version", "1");
    *self = NULL;
    return MQCORE_OK;
}

static int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    const mqcore_message* message;

    (void)self;
    while (source->next(source, &message) == MQCORE_SEND)
        sink->done(sink, message->slot, MQCORE_OK);
    return MQCORE_OK;
}

static const mqcore_info kInfo = {.size = sizeof(mqcore_info), .id = "header", .library = "none"};
static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
                                      .size = sizeof(mqcore_driver),
                                      .info = &kInfo,
                                      .create = create,
                                      .drive = drive};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return MQCORE_HAS(&kDriver, mqcore_driver, extension) ? &kDriver : NULL;
}
