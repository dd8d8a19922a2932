/* Says at connect that it cannot do what the run asks for, as for a broker that grants less. */
#include "good.h"

static int32_t refuse_in_connect(void* self, const mqcore_run* run) {
    (void)run;
    ((good*)self)
        ->host->fail(((good*)self)->host, MQCORE_UNSUPPORTED,
                     "the broker granted QoS 0 instead of 1");
    return MQCORE_UNSUPPORTED;
}

DRIVER(good_create, refuse_in_connect, good_drive, good_disconnect, good_destroy)
