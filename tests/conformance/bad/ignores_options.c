/* Takes an option that it does not know. */
#include "good.h"

static mqcore_run without_options;

static int32_t connect_anyway(void* self, const mqcore_run* run) {
    without_options = *run;
    without_options.option_count = 0;
    return good_connect(self, &without_options);
}

DRIVER(good_create, connect_anyway, good_drive, good_disconnect, good_destroy)
