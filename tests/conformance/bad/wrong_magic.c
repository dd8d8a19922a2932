/* Exports the symbol of a driver, but something else answers to it. */
#include "good.h"

static const mqcore_info kInfo = GOOD_INFO();
static const mqcore_driver kDriver = {.magic = 0x7f454c46,
                                      .size = sizeof(mqcore_driver),
                                      .abi_major = MQCORE_ABI_MAJOR,
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
