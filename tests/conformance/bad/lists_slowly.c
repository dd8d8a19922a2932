/* Takes more than a tenth of a second to be opened. */
#define _POSIX_C_SOURCE 200809L

#include <time.h>

#include "good.h"

__attribute__((constructor)) static void load_much(void) {
    const struct timespec long_enough = {.tv_sec = 0, .tv_nsec = 130000000};

    nanosleep(&long_enough, NULL);
}

DRIVER(good_create, good_connect, good_drive, good_disconnect, good_destroy)
