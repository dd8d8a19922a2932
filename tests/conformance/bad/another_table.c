/* Makes a table for each call. */
#include <stdlib.h>

#include "good.h"

static const mqcore_info kInfo = GOOD_INFO();

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    mqcore_driver* table = calloc(1, sizeof *table);

    (void)driver_folder;
    *table = (mqcore_driver){.magic = MQCORE_MAGIC,
                             .size = sizeof *table,
                             .abi_major = MQCORE_ABI_MAJOR,
                             .abi_minor = MQCORE_ABI_MINOR,
                             .info = &kInfo,
                             .create = good_create,
                             .connect = good_connect,
                             .drive = good_drive,
                             .disconnect = good_disconnect,
                             .destroy = good_destroy};
    return table;
}
