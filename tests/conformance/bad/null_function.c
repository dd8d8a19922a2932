/* Has no drive(). */
#include "good.h"

DRIVER(good_create, good_connect, NULL, good_disconnect, good_destroy)
