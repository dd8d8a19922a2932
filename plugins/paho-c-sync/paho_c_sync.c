/* The driver of Eclipse Paho MQTT C, synchronous API. The thread of drive() writes each packet itself;
 * a thread of the library reads and calls back. README.md beside this file says what each completion
 * stands for and why each setting is what it is.
 */
#include "shared.h"

#include <MQTTClient.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kConnectSeconds = 10, kTextBytes = 512, kPacketIds = 65536 };

/* A packet identifier whose acknowledgement came before publish() could say whose it is. Slots end below. */
enum { kNobody = 0, kAlreadyDone = UINT16_MAX };

typedef struct driver driver;

/* One MQTT connection. */
typedef struct connection {
    driver* owner;
    MQTTClient client; /* null: never made                                                  */
    uint32_t index;
    _Atomic uint16_t* slots; /* slot + 1 of each packet identifier in flight, or one of the above */
} connection;

struct driver {
    const mqcore_host* host;
    const mqcore_run* run;
    connection* connections;   /* run->connection_count                                        */
    int* qos;                  /* asked for, then granted: run->filter_count                   */
    MQTTProperties properties; /* of every PUBLISH; none: count is 0                           */

    /* Null before drive(): then callbacks have nobody to tell. */
    _Atomic(mqcore_sink*) sink;
    atomic_int lost;            /* a connection was lost                                        */
    atomic_int leaving;         /* disconnect() has begun: losing a connection is no news       */
    atomic_uint early;          /* messages that arrived before drive()                         */
    char tls_error[kTextBytes]; /* first line of the TLS library; guarded by lock               */
    pthread_mutex_t lock;
};

static int32_t fail(driver* self, int32_t status, const char* text) {
    self->host->fail(self->host, status, text);
    return status;
}

static int32_t failed_call(driver* self, const char* call, int code) {
    const char* reason = MQTTClient_strerror(code);
    char text[kTextBytes];

    snprintf(text, sizeof text, "%s: %s (code %d)", call, reason ? reason : "no reason given",
             code);
    return fail(self, MQCORE_LIBRARY, text);
}

/* ---- callbacks on the library's thread --------------------------------------------------------- */

static void completed(connection* it, int id, int32_t status) {
    mqcore_sink* sink = atomic_load_explicit(&it->owner->sink, memory_order_acquire);
    uint16_t slot = kNobody;

    /* Acquire and release: what publish() wrote, and what it does after it has seen this. */
    if (atomic_compare_exchange_strong(&it->slots[id], &slot, kAlreadyDone))
        return;
    atomic_store(&it->slots[id], kNobody);
    if (sink)
        sink->done(sink, slot - 1u, status);
}

/* MQTT 3.1.1: PUBACK or PUBCOMP. */
static void on_delivered(void* context, MQTTClient_deliveryToken id) {
    completed(context, id, MQCORE_OK);
}

/* MQTT 5: PUBACK, PUBCOMP, or a PUBREC that refuses. */
static void on_published5(void* context, int id, int packet, MQTTProperties* properties,
                          enum MQTTReasonCodes reason) {
    (void)packet, (void)properties;
    completed(context, id, (int)reason < 0x80 ? MQCORE_OK : MQCORE_NETWORK);
}

static int on_message(void* context, char* topic, int topic_bytes, MQTTClient_message* message) {
    connection* it = context;
    driver* self = it->owner;
    /* Acquire: the sink that drive() published, complete. */
    mqcore_sink* sink = atomic_load_explicit(&self->sink, memory_order_acquire);

    (void)topic_bytes;
    if (sink)
        sink->received(sink, message->payload, (uint32_t)message->payloadlen, MQCORE_NONE,
                       it->index);
    else if (!atomic_load(&self->leaving))
        atomic_fetch_add(&self->early, 1u);
    MQTTClient_freeMessage(&message);
    MQTTClient_free(topic);
    return 1;
}

static void on_lost(void* context, char* cause) {
    connection* it = context;
    driver* self = it->owner;
    char text[kTextBytes];

    if (atomic_load(&self->leaving))
        return;
    snprintf(text, sizeof text, "connection %u was lost: %s", it->index,
             cause ? cause : "the library gives no cause");
    fail(self, MQCORE_NETWORK, text);
    atomic_store(&self->lost, 1);
}

/* MQTT 5: the server's DISCONNECT. */
static void on_disconnect5(void* context, MQTTProperties* properties, enum MQTTReasonCodes reason) {
    connection* it = context;
    driver* self = it->owner;
    const char* name = MQTTReasonCode_toString(reason);
    char text[kTextBytes];

    (void)properties;
    if (atomic_load(&self->leaving))
        return;
    snprintf(text, sizeof text, "connection %u: the server disconnected: %s (reason code 0x%02x)",
             it->index, name ? name : "unknown reason", (unsigned)reason);
    fail(self, MQCORE_NETWORK, text);
    atomic_store(&self->lost, 1);
}

static int on_tls_error(const char* text, size_t bytes, void* context) {
    driver* self = context;

    pthread_mutex_lock(&self->lock);
    if (!self->tls_error[0]) {
        snprintf(self->tls_error, sizeof self->tls_error, "%.*s", (int)bytes, text);
        self->tls_error[strcspn(self->tls_error, "\r\n")] = '\0';
    }
    pthread_mutex_unlock(&self->lock);
    return 1;
}

/* ---- connecting and subscribing ---------------------------------------------------------------- */

static int32_t connect_failed(driver* self, int code) {
    const char* reason;
    char text[2 * kTextBytes];

    if (code > 0)
        reason = self->run->protocol == MQCORE_V5
                     ? MQTTReasonCode_toString((enum MQTTReasonCodes)code)
                     : connack_text(code);
    else
        reason = MQTTClient_strerror(code);
    pthread_mutex_lock(&self->lock);
    snprintf(text, sizeof text, "connect to '%.200s' port %u: %s (code %d)%s%s", self->run->host,
             self->run->port, reason ? reason : "no reason given", code,
             self->tls_error[0] ? "; TLS: " : "", self->tls_error);
    pthread_mutex_unlock(&self->lock);
    return fail(self, MQCORE_NETWORK, text);
}

static int32_t connect_one(driver* self, uint32_t index) {
    const mqcore_run* run = self->run;
    const bool v5 = run->protocol == MQCORE_V5;
    connection* it = &self->connections[index];
    MQTTClient_createOptions create = MQTTClient_createOptions_initializer;
    MQTTClient_connectOptions v311_options = MQTTClient_connectOptions_initializer;
    MQTTClient_connectOptions v5_options = MQTTClient_connectOptions_initializer5;
    MQTTClient_connectOptions* options = v5 ? &v5_options : &v311_options;
    MQTTClient_SSLOptions tls = MQTTClient_SSLOptions_initializer;
    MQTTProperties properties = MQTTProperties_initializer;
    char uri[kTextBytes];
    char client_id[kTextBytes];
    int code;

    it->owner = self;
    it->index = index;
    it->slots = calloc(kPacketIds, sizeof *it->slots);
    if (!it->slots)
        return fail(self, MQCORE_LIBRARY, "out of memory");
    if (!broker_uri(run, uri, sizeof uri))
        return fail(self, MQCORE_CONFIG, "the broker's name is too long");
    if (!client_id_of(run, index, client_id, sizeof client_id))
        return fail(self, MQCORE_CONFIG, "the client id is too long");

    create.MQTTVersion = v5 ? MQTTVERSION_5 : MQTTVERSION_3_1_1;
    code = MQTTClient_createWithOptions(&it->client, uri, client_id, MQTTCLIENT_PERSISTENCE_NONE,
                                        NULL, &create);
    if (code != MQTTCLIENT_SUCCESS)
        return failed_call(self, "MQTTClient_createWithOptions", code);
    code = MQTTClient_setCallbacks(it->client, it, on_lost, on_message, v5 ? NULL : on_delivered);
    if (code == MQTTCLIENT_SUCCESS && v5)
        code = MQTTClient_setPublished(it->client, it, on_published5);
    if (code == MQTTCLIENT_SUCCESS && v5)
        code = MQTTClient_setDisconnected(it->client, it, on_disconnect5);
    if (code != MQTTCLIENT_SUCCESS)
        return failed_call(self, "MQTTClient_setCallbacks", code);

    options->MQTTVersion = create.MQTTVersion;
    options->keepAliveInterval = (int)run->keepalive_s;
    options->maxInflightMessages = (int)run->window + 1;
    options->reliable = 0;
    options->connectTimeout = kConnectSeconds;
    if (run->ca_file) {
        tls.trustStore = run->ca_file;
        tls.enableServerCertAuth = 1;
        tls.verify = 1;
        tls.disableDefaultTrustStore = 1;
        tls.ssl_error_cb = on_tls_error;
        tls.ssl_error_context = self;
        options->ssl = &tls;
        note_tls(self->host);
    }
    if (v5) {
        MQTTResponse response;
        if (run->receive_maximum > 0)
            add_number(&properties, MQTTPROPERTY_CODE_RECEIVE_MAXIMUM, run->receive_maximum);
        response = MQTTClient_connect5(it->client, options, &properties, NULL);
        code = response.reasonCode;
        MQTTResponse_free(response);
        MQTTProperties_free(&properties);
    } else {
        code = MQTTClient_connect(it->client, options);
    }
    return code == MQTTCLIENT_SUCCESS ? MQCORE_OK : connect_failed(self, code);
}

/* MQTT 3.1.1 and 5 agree: 0 to 2 is the granted QoS, 0x80 and above is a refusal. */
static int32_t check_granted(driver* self, const char* filter, int code) {
    char text[kTextBytes];

    if (code >= 0x80) {
        snprintf(text, sizeof text, "the broker refused to subscribe '%.200s' (code 0x%02x)",
                 filter, (unsigned)code);
        return fail(self, MQCORE_NETWORK, text);
    }
    if (code < (int)self->run->filter_qos) {
        snprintf(text, sizeof text, "the broker granted QoS %d for '%.200s', QoS %u was asked for",
                 code, filter, self->run->filter_qos);
        return fail(self, MQCORE_UNSUPPORTED, text);
    }
    return MQCORE_OK;
}

static int32_t subscribe(driver* self, connection* it) {
    const mqcore_run* run = self->run;
    const int count = (int)run->filter_count;
    int32_t status = MQCORE_OK;
    int code;

    for (int i = 0; i < count; ++i)
        self->qos[i] = (int)run->filter_qos;
    if (run->protocol == MQCORE_V5) {
        MQTTResponse response = MQTTClient_subscribeMany5(
            it->client, count, (char* const*)run->filters, self->qos, NULL, NULL);
        code = response.reasonCode;
        for (int i = 0; code >= 0 && i < count; ++i)
            self->qos[i] = response.reasonCodes ? (int)response.reasonCodes[i] : code;
        MQTTResponse_free(response);
    } else {
        code = MQTTClient_subscribeMany(it->client, count, (char* const*)run->filters, self->qos);
    }
    if (code < 0)
        return failed_call(self, "MQTTClient_subscribeMany", code);
    for (int i = 0; status == MQCORE_OK && i < count; ++i)
        status = check_granted(self, run->filters[i], self->qos[i]);
    return status;
}

/* ---- the measured path ------------------------------------------------------------------------- */

/* False: the connection is lost. */
static bool publish(driver* self, const mqcore_message* message, mqcore_sink* sink) {
    connection* it = &self->connections[message->connection];
    const char* topic = self->run->topics[message->topic];
    const void* payload = message->payload ? (const void*)message->payload : "";
    const int bytes = (int)message->payload_bytes;
    MQTTClient_deliveryToken id = 0;
    int code;

    if (self->run->protocol == MQCORE_V5)
        code = MQTTClient_publish5(it->client, topic, bytes, payload, message->qos, message->retain,
                                   &self->properties, &id)
                   .reasonCode;
    else
        code = MQTTClient_publish(it->client, topic, bytes, payload, message->qos, message->retain,
                                  &id);
    if (code != MQTTCLIENT_SUCCESS) {
        if (!atomic_load(&self->lost))
            failed_call(self, "MQTTClient_publish", code);
        return false;
    }
    if (message->qos > 0) {
        const uint16_t before = atomic_exchange(&it->slots[id], (uint16_t)(message->slot + 1u));
        if (before != kAlreadyDone)
            return true;
        atomic_store(&it->slots[id], kNobody);
    }
    sink->done(sink, message->slot, MQCORE_OK);
    return true;
}

static int32_t paho_drive(void* opaque, mqcore_source* source, mqcore_sink* sink) {
    driver* self = opaque;
    const mqcore_message* message;

    /* Release: callbacks on the library's thread read what the sink points at. */
    atomic_store_explicit(&self->sink, sink, memory_order_release);
    for (;;) {
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            if (!publish(self, message, sink))
                return MQCORE_NETWORK;
            break;
        case MQCORE_WAIT:
        case MQCORE_DRAIN:
            if (atomic_load_explicit(&self->lost, memory_order_relaxed))
                return MQCORE_NETWORK;
            source->wait(source);
            break;
        default:
            return atomic_load(&self->lost) ? MQCORE_NETWORK : MQCORE_OK;
        }
    }
}

/* ---- life -------------------------------------------------------------------------------------- */

static void note_library(const mqcore_host* host) {
    for (MQTTClient_nameValue* info = MQTTClient_getVersionInfo(); info && info->name; ++info) {
        if (strcmp(info->name, "Version") == 0)
            host->note(host, "library.version", info->value);
        else if (strcmp(info->name, "Build level") == 0)
            host->note(host, "library.build", info->value);
        else if (strcmp(info->name, "OpenSSL version") == 0)
            host->note(host, "tls.library", info->value);
    }
}

static int32_t paho_create(const mqcore_host* host, void** out) {
    driver* self = calloc(1, sizeof *self);

    *out = self;
    if (!self) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    self->host = host;
    pthread_mutex_init(&self->lock, NULL);
    note_library(host);
    return MQCORE_OK;
}

static int32_t paho_connect(void* opaque, const mqcore_run* run) {
    driver* self = opaque;
    char text[kTextBytes];
    int32_t status = MQCORE_OK;
    int failed;

    self->run = run;
    atomic_store(&self->lost, 0);
    atomic_store(&self->leaving, 0);
    atomic_store(&self->early, 0);
    if (run->option_count > 0) {
        snprintf(text, sizeof text, "unknown option '%.100s': paho-c-sync has no options",
                 run->options[0].key);
        return fail(self, MQCORE_CONFIG, text);
    }
    self->connections = calloc(run->connection_count, sizeof *self->connections);
    self->qos = calloc(run->filter_count + 1u, sizeof *self->qos);
    if (!self->connections || !self->qos)
        return fail(self, MQCORE_LIBRARY, "out of memory");
    failed = add_publish_properties(&self->properties, run);
    if (failed)
        return failed_call(self, "MQTTProperties_add", failed);

    for (uint32_t i = 0; status == MQCORE_OK && i < run->connection_count; ++i)
        status = connect_one(self, i);
    for (uint32_t i = 0; status == MQCORE_OK && run->filter_count > 0 && i < run->connection_count;
         ++i)
        status = subscribe(self, &self->connections[i]);
    return status;
}

static int32_t paho_disconnect(void* opaque) {
    driver* self = opaque;
    char text[kTextBytes];

    if (!self->connections)
        return MQCORE_OK;
    atomic_store(&self->leaving, 1);
    /* With the last one the library's thread ends, and with it all callbacks. */
    for (uint32_t i = 0; i < self->run->connection_count; ++i)
        if (self->connections[i].client)
            MQTTClient_disconnect(self->connections[i].client, 0);
    atomic_store(&self->sink, NULL);
    for (uint32_t i = 0; i < self->run->connection_count; ++i) {
        if (self->connections[i].client)
            MQTTClient_destroy(&self->connections[i].client);
        free(self->connections[i].slots);
    }
    if (atomic_load(&self->early) > 0) {
        snprintf(text, sizeof text, "%u messages arrived before drive() and were not reported",
                 atomic_load(&self->early));
        self->host->log(self->host, MQCORE_LOG_WARNING, text);
    }
    MQTTProperties_free(&self->properties);
    memset(&self->properties, 0, sizeof self->properties);
    free(self->connections);
    free(self->qos);
    self->connections = NULL;
    self->qos = NULL;
    return MQCORE_OK;
}

static void paho_destroy(void* opaque) {
    driver* self = opaque;

    paho_disconnect(self);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = "paho-c-sync",
    .library = "Eclipse Paho MQTT C",
    .protocols = MQCORE_V311 | MQCORE_V5,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .features = MQCORE_FEATURE_TLS | MQCORE_FEATURE_PUBLISH_PROPERTIES |
                MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM |
                MQCORE_FEATURE_MANY_CONNECTIONS,
    .max_window = 65534,
    .qos0_completion = MQCORE_QOS0_WRITTEN,
};

static const mqcore_driver kDriver = {
    .magic = MQCORE_MAGIC,
    .size = sizeof(mqcore_driver),
    .abi_major = MQCORE_ABI_MAJOR,
    .abi_minor = MQCORE_ABI_MINOR,
    .needs_host_minor = 0,
    .info = &kInfo,
    .create = paho_create,
    .connect = paho_connect,
    .drive = paho_drive,
    .disconnect = paho_disconnect,
    .destroy = paho_destroy,
    .extension = NULL,
};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
