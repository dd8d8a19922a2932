/* A tiny MQTT 3.1.1 client: one connection over a plain socket, QoS 0 and 1, no thread of its own. It stands
 * where YOUR LIBRARY will be, and goes when that is there; driver.c shows what has to change. */
#ifndef TINY_MQTT_H
#define TINY_MQTT_H

#include <stddef.h>
#include <stdint.h>

typedef struct tiny_mqtt tiny_mqtt;

typedef struct tiny_mqtt_callbacks {
    void* user;                                                        /* handed to both        */
    void (*acknowledged)(void* user, uint16_t id);                     /* PUBACK                */
    void (*message)(void* user, const uint8_t* payload, size_t bytes); /* while the call lasts  */
} tiny_mqtt_callbacks;

/* Callbacks come from inside the calls below. Null: out of memory. */
tiny_mqtt* tiny_mqtt_new(tiny_mqtt_callbacks callbacks);
void tiny_mqtt_free(tiny_mqtt* client); /* null is allowed */

/* Each of these returns 0, or -1 with the reason in tiny_mqtt_error(). Times: CLOCK_MONOTONIC. */
const char* tiny_mqtt_error(const tiny_mqtt* client);
int tiny_mqtt_connect(tiny_mqtt* client, const char* host, uint16_t port, const char* client_id,
                      uint16_t keepalive_s); /* until CONNACK */
int tiny_mqtt_subscribe(tiny_mqtt* client, const char* filter, uint8_t qos,
                        uint8_t* granted); /* until SUBACK; 0x80: refused */
/* Until the kernel has taken it. id: 1 to 65535, not in use, for QoS 1. */
int tiny_mqtt_publish(tiny_mqtt* client, const char* topic, const uint8_t* payload, size_t bytes,
                      uint8_t qos, int retain, uint16_t id);
int tiny_mqtt_serve(tiny_mqtt* client,
                    uint64_t until_ns); /* what arrives; returns early after it */
void tiny_mqtt_disconnect(tiny_mqtt* client);

#endif
