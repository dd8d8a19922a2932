/* Built for a later major version, whose table this core cannot know. */
#include "good.h"

static const mqcore_driver kDriver = {
    .magic = MQCORE_MAGIC, .size = sizeof(mqcore_driver), .abi_major = MQCORE_ABI_MAJOR + 1};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
