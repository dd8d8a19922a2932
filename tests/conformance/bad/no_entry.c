/* A shared library, but no driver. */
#include "good.h"

int32_t mqcore_driver_version(void);

int32_t mqcore_driver_version(void) { return 1; }
