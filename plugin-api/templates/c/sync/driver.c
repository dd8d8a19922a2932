/* The driver my-driver: it adapts one MQTT client library to mqcore. The contract is mqcore/driver.h.
 *
 * It works as it stands, with tiny_mqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and keep
 * ./test.sh green. Nothing here counts, paces or reads a clock: mqcore does. */
#include "mqcore/driver.h"

#include "tiny_mqtt.h" /* YOUR LIBRARY: its header, here and in CMakeLists.txt */

#include <stdio.h>
#include <stdlib.h>

typedef struct driver {
    const mqcore_host* host;
    const mqcore_run* run; /* from connect() on */
    mqcore_sink* sink; /* from drive() to disconnect(): nothing of the run is sent outside of it */
    tiny_mqtt* client; /* YOUR LIBRARY */
} driver;

/* The first text becomes the run's reason. */
static int32_t fail(driver* it, int32_t status, const char* text) {
    it->host->fail(it->host, status, text);
    return status;
}

/* ---- YOUR LIBRARY: its callbacks. done() and received() may be called from any of its threads. ---- */

/* PUBACK. The packet identifier of a message is its slot + 1, see publish(). */
static void on_acknowledged(void* opaque, uint16_t id) {
    driver* it = opaque;

    if (it->sink)
        it->sink->done(it->sink, id - 1u, MQCORE_OK);
}

static void on_message(void* opaque, const uint8_t* payload, size_t bytes) {
    driver* it = opaque;

    if (it->sink)
        it->sink->received(it->sink, payload, (uint32_t)bytes, MQCORE_NONE, 0);
}

/* ---- the five functions of the contract -------------------------------------------------------- */

/* Makes what is needed without a network. */
static int32_t driver_create(const mqcore_host* host, void** self) {
    driver* it = calloc(1, sizeof *it);

    *self = it;
    if (!it) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    it->host = host;
    host->note(host, "library.version", "0"); /* YOUR LIBRARY: its version, as it says itself */
    return MQCORE_OK;
}

/* Returns when the broker has confirmed the connection and every subscription. */
static int32_t driver_connect(void* self, const mqcore_run* run) {
    driver* it = self;

    it->run = run;
    if (run->option_count > 0)
        return fail(it, MQCORE_CONFIG, "this driver has no options");

    /* YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is lost
     * must end the run. Here, too, belongs whatever caps or delays: set its limit of messages in flight
     * to run->window or more, switch Nagle's algorithm off, store nothing on disk. */
    const tiny_mqtt_callbacks callbacks = {it, on_acknowledged, on_message};
    it->client = tiny_mqtt_new(callbacks);
    if (!it->client)
        return fail(it, MQCORE_LIBRARY, "out of memory");

    /* YOUR LIBRARY: connect, wait for CONNACK, at most 10 s. */
    if (tiny_mqtt_connect(it->client, run->host, (uint16_t)run->port, run->client_id,
                          (uint16_t)run->keepalive_s) != 0)
        return fail(it, MQCORE_NETWORK, tiny_mqtt_error(it->client));

    /* YOUR LIBRARY: subscribe, wait for SUBACK. A lower QoS than asked for is no success. */
    for (uint32_t i = 0; i < run->filter_count; ++i) {
        uint8_t granted;
        if (tiny_mqtt_subscribe(it->client, run->filters[i], (uint8_t)run->filter_qos, &granted) !=
            0)
            return fail(it, MQCORE_NETWORK, tiny_mqtt_error(it->client));
        if (granted >= 0x80)
            return fail(it, MQCORE_NETWORK, "the broker refused a subscription");
        if (granted < run->filter_qos)
            return fail(it, MQCORE_UNSUPPORTED,
                        "the broker granted a lower QoS than was asked for");
    }
    return MQCORE_OK;
}

/* Hands one message over.
 *
 * How do you find the slot when an acknowledgement comes? tiny_mqtt takes the packet identifier from its
 * caller. Most libraries choose it themselves: keep the slot in the message's context if there is one, else
 * in an array by packet identifier. The acknowledgement may come on another thread before the publishing
 * call has returned. */
static int32_t publish(driver* it, const mqcore_message* message) {
    /* YOUR LIBRARY: publish. The payload goes out as it is and stays put until done(). */
    if (tiny_mqtt_publish(it->client, it->run->topics[message->topic], message->payload,
                          message->payload_bytes, message->qos, message->retain,
                          (uint16_t)(message->slot + 1)) != 0)
        return fail(it, MQCORE_NETWORK, tiny_mqtt_error(it->client));
    if (message->qos == 0)
        it->sink->done(it->sink, message->slot, MQCORE_OK); /* written: see qos0_completion */
    return MQCORE_OK;
}

/* The loop. */
static int32_t driver_drive(void* self, mqcore_source* source, mqcore_sink* sink) {
    driver* it = self;
    const mqcore_message* message;
    unsigned in_a_row = 0;

    it->sink = sink;
    for (;;) {
        uint64_t until_ns = 0;
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            if (publish(it, message) != MQCORE_OK)
                return MQCORE_NETWORK;
            if (++in_a_row % 64 != 0)
                continue;
            break; /* let the library work now and then */
        case MQCORE_STOP:
            return MQCORE_OK;
        default: /* WAIT, DRAIN */
            until_ns = source->wake_ns;
        }
        /* YOUR LIBRARY: let it work until then, or until something completes. With threads of its own
         * it needs nothing here: call source->wait(source) on WAIT and DRAIN. */
        if (tiny_mqtt_serve(it->client, until_ns) != 0)
            return fail(it, MQCORE_NETWORK, tiny_mqtt_error(it->client));
    }
}

/* Leaves the broker in the proper way. Once it has returned no callback may reach the sink. */
static int32_t driver_disconnect(void* self) {
    driver* it = self;

    it->sink = NULL;
    tiny_mqtt_disconnect(it->client); /* YOUR LIBRARY */
    tiny_mqtt_free(it->client);
    it->client = NULL;
    return MQCORE_OK;
}

/* Also where connect() has failed half-way. */
static void driver_destroy(void* self) {
    driver* it = self;

    tiny_mqtt_free(it->client); /* YOUR LIBRARY */
    free(it);
}

/* YOUR LIBRARY: what it can do, the same as in driver.toml. What is not claimed is refused, never tried. */
static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = "my-driver",
    .library = "tiny_mqtt",
    .protocols = MQCORE_V311,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1,
    .features = 0,
    .max_window = 65535,
    .qos0_completion = MQCORE_QOS0_WRITTEN,
};

static const mqcore_driver kDriver = {
    .magic = MQCORE_MAGIC,
    .size = sizeof(mqcore_driver),
    .abi_major = MQCORE_ABI_MAJOR,
    .abi_minor = MQCORE_ABI_MINOR,
    .info = &kInfo,
    .create = driver_create,
    .connect = driver_connect,
    .drive = driver_drive,
    .disconnect = driver_disconnect,
    .destroy = driver_destroy,
};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
