/* Claims less once its library is there. */
#include "good.h"

static mqcore_info info = GOOD_INFO();

static int32_t create(const mqcore_host* host, void** self) {
    info.max_window = 20;
    return good_create(host, self);
}

static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
                                      .size = sizeof(mqcore_driver),
                                      .abi_major = MQCORE_ABI_MAJOR,
                                      .abi_minor = MQCORE_ABI_MINOR,
                                      .info = &info,
                                      .create = create,
                                      .connect = good_connect,
                                      .drive = good_drive,
                                      .disconnect = good_disconnect,
                                      .destroy = good_destroy};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
