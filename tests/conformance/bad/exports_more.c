/* Exports a function of its library beside its entry. */
#include "good.h"

MQCORE_EXPORT int mqtt_client_version(void);

int mqtt_client_version(void) { return 1; }

DRIVER(good_create, good_connect, good_drive, good_disconnect, good_destroy)
