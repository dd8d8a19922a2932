/* Connects in plain text when it is asked for TLS, which it does not claim. */
#include "good.h"

static int32_t connect_anyhow(void* self, const mqcore_run* run) {
    static mqcore_run plain;

    plain = *run;
    plain.ca_file = NULL;
    return good_connect(self, &plain);
}

DRIVER(good_create, connect_anyhow, good_drive, good_disconnect, good_destroy)
