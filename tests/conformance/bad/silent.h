/* A host that the core does not hear from: for drivers that go on after a failure. */
#ifndef SILENT_H
#define SILENT_H

#include "good.h"

static mqcore_host silent;

static inline void say_nothing(const mqcore_host* host, int32_t status, const char* text) {
    (void)host;
    (void)status;
    (void)text;
}

static inline int32_t create_silently(const mqcore_host* host, void** self) {
    silent = *host;
    silent.fail = say_nothing;
    return good_create(&silent, self);
}

#endif
