/* Starts a thread when it is opened. */
#define _POSIX_C_SOURCE 200809L

#include "good.h"

#include <pthread.h>
#include <unistd.h>

static void* sleep_on(void* nothing) {
    for (;;)
        pause();
    return nothing;
}

__attribute__((constructor)) static void start(void) {
    pthread_t thread;

    if (pthread_create(&thread, NULL, sleep_on, NULL) == 0)
        pthread_detach(thread);
}

DRIVER(good_create, good_connect, good_drive, good_disconnect, good_destroy)
