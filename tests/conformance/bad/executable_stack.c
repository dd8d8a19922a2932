/* Linked so that it asks for an executable stack. */
#include "good.h"

DRIVER(good_create, good_connect, good_drive, good_disconnect, good_destroy)
