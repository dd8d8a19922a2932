/* A small library that two drivers bring, each in a version of its own. */
#include "shared.h"

int shared_state = VERSION;

int shared_version(void) { return VERSION; }
int shared_count(void) { return ++shared_state; }
