/* Claims QoS 2, which its driver.toml does not. */
#include "good.h"

static const mqcore_info kInfo = {.size = sizeof(mqcore_info),
                                  .shape = MQCORE_SHAPE_SYNC,
                                  .id = DRIVER_ID,
                                  .library = "a plain socket",
                                  .protocols = MQCORE_V311,
                                  .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
                                  .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,
                                  .qos0_completion = MQCORE_QOS0_WRITTEN};
static const mqcore_driver kDriver = {.magic = MQCORE_MAGIC,
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
