/* Works only with a core of a later minor version. */
#include "good.h"

static const mqcore_info kInfo = GOOD_INFO();
static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
                                      .size = sizeof(mqcore_driver),
                                      .abi_major = MQCORE_ABI_MAJOR,
                                      .abi_minor = MQCORE_ABI_MINOR + 7,
                                      .needs_host_minor = MQCORE_ABI_MINOR + 7,
                                      .info = &kInfo,
                                      .create = good_create,
                                      .connect = good_connect,
                                      .drive = good_drive,
                                      .disconnect = good_disconnect,
                                      .destroy = good_destroy};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
