/* Never returns. */
#ifndef HANG_H
#define HANG_H

#include <unistd.h>

static inline void hang(void) {
    for (;;)
        pause();
}

#endif
