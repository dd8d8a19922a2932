/* Calls a function that nobody defines. */
#include "good.h"

int32_t a_function_that_nobody_defines(void* self, mqcore_source* source, mqcore_sink* sink);

DRIVER(good_create, good_connect, a_function_that_nobody_defines, good_disconnect, good_destroy)
