/* Cannot host its folder. */
#include "good.h"

#include <stdio.h>

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    fprintf(stderr, "cannot host '%s'\n", driver_folder);
    return NULL;
}
