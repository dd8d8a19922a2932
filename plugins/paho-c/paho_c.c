/* The driver of Eclipse Paho MQTT C, asynchronous API. The library runs a send thread and a receive
 * thread of its own: drive() hands messages over and never waits for one, every completion and every
 * arrival comes as a callback on one of those two threads. README.md beside this file says what each
 * completion stands for and why each setting is what it is.
 *
 * Also the reference for drivers in C: read it from the bottom (the table) upwards.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, pthread_condattr_setclock */

#include "shared.h"

#include <MQTTAsync.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kConnectSeconds = 10, kDisconnectSeconds = 2, kTextBytes = 512 };

typedef struct driver driver;

/* One MQTT connection. */
typedef struct connection {
    driver* owner;
    MQTTAsync
        client; /* null: never made                                                          */
    uint32_t index;
} connection;

/* What the library hands back with a completion. */
typedef struct slot {
    driver* owner;
    uint32_t number;
} slot;

struct driver {
    const mqcore_host* host;
    const mqcore_run* run;
    connection*
        connections; /* run->connection_count                                              */
    slot* slots;     /* run->window                                                        */
    int* filter_qos; /* run->filter_count times run->filter_qos                            */
    MQTTProperties properties; /* of every PUBLISH; none: count is 0                              */

    /* Null before drive() and once disconnect() has begun: then callbacks have nobody to tell. */
    _Atomic(mqcore_sink*) sink;
    atomic_int lost; /* a connection was lost                                                   */
    atomic_int
        leaving;       /* disconnect() has begun: losing a connection is no news                  */
    atomic_uint early; /* messages that arrived before drive()                                    */

    /* What connect() and disconnect() wait for. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t
        waiting_for; /* answers that are still to come; guarded by lock                       */
    int32_t status;  /* of the first failed answer, else MQCORE_OK; guarded by lock           */
    char
        tls_error[kTextBytes]; /* first line of the TLS library; guarded by lock                  */
};

/* ---- waiting for answers ---------------------------------------------------------------------- */

static void expect(driver* self, uint32_t answers) {
    pthread_mutex_lock(&self->lock);
    self->waiting_for = answers;
    self->status = MQCORE_OK;
    pthread_mutex_unlock(&self->lock);
}

static void answered(driver* self, int32_t status) {
    pthread_mutex_lock(&self->lock);
    if (self->status == MQCORE_OK)
        self->status = status;
    if (self->waiting_for > 0)
        --self->waiting_for;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* A failed answer whose text goes to the host. */
static void refused(driver* self, int32_t status, const char* text) {
    self->host->fail(self->host, status, text);
    answered(self, status);
}

/* Returns when all answers are there, one of them is a failure, or the time is over: then
 * MQCORE_NETWORK. */
static int32_t wait_for_answers(driver* self, int seconds, const char* what) {
    struct timespec deadline;
    char text[kTextBytes];
    int32_t status;
    int timed_out = 0;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += seconds;
    pthread_mutex_lock(&self->lock);
    while (self->waiting_for > 0 && self->status == MQCORE_OK && !timed_out)
        timed_out = pthread_cond_timedwait(&self->changed, &self->lock, &deadline) != 0;
    status = self->status;
    pthread_mutex_unlock(&self->lock);
    if (status == MQCORE_OK && timed_out) {
        snprintf(text, sizeof text, "no %s within %d s", what, seconds);
        self->host->fail(self->host, MQCORE_NETWORK, text);
        status = MQCORE_NETWORK;
    }
    return status;
}

/* A call of the library that was refused at once. */
static int32_t failed_call(driver* self, const char* call, int code) {
    char text[kTextBytes];
    const char* reason = MQTTAsync_strerror(code);

    snprintf(text, sizeof text, "%s: %s (code %d)", call, reason ? reason : "no reason given",
             code);
    self->host->fail(self->host, MQCORE_LIBRARY, text);
    return MQCORE_LIBRARY;
}

/* ---- connecting ------------------------------------------------------------------------------- */

static void on_connected(void* context, MQTTAsync_successData* data) {
    (void)data;
    answered(((connection*)context)->owner, MQCORE_OK);
}

static void on_connected5(void* context, MQTTAsync_successData5* data) {
    (void)data;
    answered(((connection*)context)->owner, MQCORE_OK);
}

static void connect_failed(connection* it, int code, const char* message) {
    driver* self = it->owner;
    char tls_error[kTextBytes];
    char text[3 * kTextBytes];
    const char* reason;

    pthread_mutex_lock(&self->lock);
    memcpy(tls_error, self->tls_error, sizeof tls_error);
    pthread_mutex_unlock(&self->lock);
    if (code > 0)
        reason = self->run->protocol == MQCORE_V5
                     ? MQTTReasonCode_toString((enum MQTTReasonCodes)code)
                     : connack_text(code);
    else
        reason = MQTTAsync_strerror(code);
    snprintf(text, sizeof text, "connect to '%s' port %u: %s: %s (code %d)%s%s", self->run->host,
             self->run->port, message ? message : "failed", reason ? reason : "no reason given",
             code, tls_error[0] ? "; TLS: " : "", tls_error);
    refused(self, MQCORE_NETWORK, text);
}

static void on_connect_failed(void* context, MQTTAsync_failureData* data) {
    connect_failed(context, data ? data->code : MQTTASYNC_FAILURE, data ? data->message : NULL);
}

static void on_connect_failed5(void* context, MQTTAsync_failureData5* data) {
    connect_failed(context, data ? data->code : MQTTASYNC_FAILURE, data ? data->message : NULL);
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

static void on_lost(void* context, char* cause) {
    connection* it = context;
    driver* self = it->owner;
    char text[kTextBytes];

    if (atomic_load(&self->leaving))
        return;
    snprintf(text, sizeof text, "connection %u was lost: %s", it->index,
             cause ? cause : "the library gives no cause");
    self->host->fail(self->host, MQCORE_NETWORK, text);
    atomic_store(&self->lost, 1);
}

/* MQTT 5: the server's DISCONNECT, which precedes on_lost() and has the cause. */
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
    self->host->fail(self->host, MQCORE_NETWORK, text);
}

static int on_message(void* context, char* topic, int topic_bytes, MQTTAsync_message* message) {
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
    MQTTAsync_freeMessage(&message);
    MQTTAsync_free(topic);
    return 1;
}

static int32_t start_connecting(driver* self, uint32_t index) {
    const mqcore_run* run = self->run;
    const int v5 = run->protocol == MQCORE_V5;
    connection* it = &self->connections[index];
    MQTTAsync_createOptions create = MQTTAsync_createOptions_initializer;
    MQTTAsync_connectOptions v311_options = MQTTAsync_connectOptions_initializer;
    MQTTAsync_connectOptions v5_options = MQTTAsync_connectOptions_initializer5;
    MQTTAsync_connectOptions* options = v5 ? &v5_options : &v311_options;
    MQTTAsync_SSLOptions tls = MQTTAsync_SSLOptions_initializer;
    MQTTProperties properties = MQTTProperties_initializer;
    char uri[kTextBytes];
    char client_id[kTextBytes];
    int code;

    it->owner = self;
    it->index = index;
    if (!broker_uri(run, uri, sizeof uri)) {
        self->host->fail(self->host, MQCORE_CONFIG, "the broker's name is too long");
        return MQCORE_CONFIG;
    }
    if (!client_id_of(run, index, client_id, sizeof client_id)) {
        self->host->fail(self->host, MQCORE_CONFIG, "the client id is too long");
        return MQCORE_CONFIG;
    }

    create.MQTTVersion = v5 ? MQTTVERSION_5 : MQTTVERSION_3_1_1;
    create.maxBufferedMessages = (int)run->window + 1;
    code = MQTTAsync_createWithOptions(&it->client, uri, client_id, MQTTCLIENT_PERSISTENCE_NONE,
                                       NULL, &create);
    if (code != MQTTASYNC_SUCCESS)
        return failed_call(self, "MQTTAsync_createWithOptions", code);
    code = MQTTAsync_setCallbacks(it->client, it, on_lost, on_message, NULL);
    if (code == MQTTASYNC_SUCCESS && v5)
        code = MQTTAsync_setDisconnected(it->client, it, on_disconnect5);
    if (code != MQTTASYNC_SUCCESS)
        return failed_call(self, "MQTTAsync_setCallbacks", code);

    options->MQTTVersion = create.MQTTVersion;
    options->keepAliveInterval = (int)run->keepalive_s;
    options->maxInflight = run->window > 0 ? (int)run->window : 1;
    options->connectTimeout = kConnectSeconds;
    options->automaticReconnect = 0;
    options->context = it;
    if (v5) {
        options->onSuccess5 = on_connected5;
        options->onFailure5 = on_connect_failed5;
        if (run->receive_maximum > 0) {
            add_number(&properties, MQTTPROPERTY_CODE_RECEIVE_MAXIMUM, run->receive_maximum);
            options->connectProperties = &properties;
        }
    } else {
        options->onSuccess = on_connected;
        options->onFailure = on_connect_failed;
    }
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
    code = MQTTAsync_connect(it->client, options);
    MQTTProperties_free(&properties);
    return code == MQTTASYNC_SUCCESS ? MQCORE_OK : failed_call(self, "MQTTAsync_connect", code);
}

/* ---- subscribing ------------------------------------------------------------------------------ */

/* MQTT 3.1.1 and 5 agree: 0 to 2 is the granted QoS, 0x80 and above is a refusal. */
static void granted(driver* self, const char* filter, int code) {
    char text[kTextBytes];

    if (code >= 0x80) {
        snprintf(text, sizeof text, "the broker refused to subscribe '%.200s' (code 0x%02x)",
                 filter, (unsigned)code);
        refused(self, MQCORE_NETWORK, text);
    } else if ((uint32_t)code < self->run->filter_qos) {
        snprintf(text, sizeof text, "the broker granted QoS %d for '%.200s', QoS %u was asked for",
                 code, filter, self->run->filter_qos);
        refused(self, MQCORE_UNSUPPORTED, text);
    } else {
        answered(self, MQCORE_OK);
    }
}

static void on_subscribed(void* context, MQTTAsync_successData* data) {
    driver* self = ((connection*)context)->owner;
    const uint32_t count = self->run->filter_count;

    for (uint32_t i = 0; i < count; ++i)
        granted(self, self->run->filters[i], count == 1 ? data->alt.qos : data->alt.qosList[i]);
}

static void on_subscribed5(void* context, MQTTAsync_successData5* data) {
    driver* self = ((connection*)context)->owner;
    const uint32_t count = self->run->filter_count;

    for (uint32_t i = 0; i < count; ++i)
        granted(self, self->run->filters[i],
                count == 1 ? (int)data->reasonCode : (int)data->alt.sub.reasonCodes[i]);
}

static void subscribe_failed(driver* self, int code) {
    if (code >= 0x80)
        granted(self, self->run->filters[0], code);
    else
        refused(self, MQCORE_NETWORK, "the connection was lost while subscribing");
}

static void on_subscribe_failed(void* context, MQTTAsync_failureData* data) {
    subscribe_failed(((connection*)context)->owner, data ? data->code : MQTTASYNC_FAILURE);
}

static void on_subscribe_failed5(void* context, MQTTAsync_failureData5* data) {
    subscribe_failed(((connection*)context)->owner,
                     data ? (int)data->reasonCode : MQTTASYNC_FAILURE);
}

static int32_t start_subscribing(driver* self, connection* it) {
    MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
    int code;

    options.context = it;
    if (self->run->protocol == MQCORE_V5) {
        options.onSuccess5 = on_subscribed5;
        options.onFailure5 = on_subscribe_failed5;
    } else {
        options.onSuccess = on_subscribed;
        options.onFailure = on_subscribe_failed;
    }
    code = MQTTAsync_subscribeMany(it->client, (int)self->run->filter_count,
                                   (char* const*)self->run->filters, self->filter_qos, &options);
    return code == MQTTASYNC_SUCCESS ? MQCORE_OK
                                     : failed_call(self, "MQTTAsync_subscribeMany", code);
}

/* ---- the measured path ------------------------------------------------------------------------ */

static void done(const slot* it, int32_t status) {
    mqcore_sink* sink = atomic_load_explicit(&it->owner->sink, memory_order_acquire);

    if (sink)
        sink->done(sink, it->number, status);
}

static void on_sent(void* context, MQTTAsync_successData* data) {
    (void)data;
    done(context, MQCORE_OK);
}

static void on_sent5(void* context, MQTTAsync_successData5* data) {
    (void)data;
    done(context, MQCORE_OK);
}

static void on_send_failed(void* context, MQTTAsync_failureData* data) {
    (void)data;
    done(context, MQCORE_NETWORK);
}

static void on_send_failed5(void* context, MQTTAsync_failureData5* data) {
    (void)data;
    done(context, MQCORE_NETWORK);
}

static int32_t publish(driver* self, const mqcore_message* message,
                       MQTTAsync_responseOptions* options) {
    options->context = &self->slots[message->slot];
    return MQTTAsync_send(self->connections[message->connection].client,
                          self->run->topics[message->topic], (int)message->payload_bytes,
                          message->payload ? (const void*)message->payload : "", message->qos,
                          message->retain, options);
}

static int32_t paho_drive(void* opaque, mqcore_source* source, mqcore_sink* sink) {
    driver* self = opaque;
    MQTTAsync_responseOptions options = MQTTAsync_responseOptions_initializer;
    const mqcore_message* message;

    if (self->run->protocol == MQCORE_V5) {
        options.onSuccess5 = on_sent5;
        options.onFailure5 = on_send_failed5;
        options.properties = self->properties;
    } else {
        options.onSuccess = on_sent;
        options.onFailure = on_send_failed;
    }
    /* Release: callbacks on the library's threads read what the sink points at. */
    atomic_store_explicit(&self->sink, sink, memory_order_release);
    for (;;) {
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            if (publish(self, message, &options) != MQTTASYNC_SUCCESS) {
                if (atomic_load_explicit(&self->lost, memory_order_relaxed))
                    return MQCORE_NETWORK;
                sink->done(sink, message->slot, MQCORE_LIBRARY);
            }
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

/* ---- life ------------------------------------------------------------------------------------- */

static void note_library(const mqcore_host* host) {
    for (MQTTAsync_nameValue* info = MQTTAsync_getVersionInfo(); info && info->name; ++info) {
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
    pthread_condattr_t clock;

    *out = self;
    if (!self) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    self->host = host;
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&self->changed, &clock);
    pthread_condattr_destroy(&clock);
    note_library(host);
    return MQCORE_OK;
}

static int32_t allocate(driver* self) {
    const mqcore_run* run = self->run;

    self->connections = calloc(run->connection_count, sizeof *self->connections);
    self->slots = calloc(run->window + 1u, sizeof *self->slots);
    self->filter_qos = calloc(run->filter_count + 1u, sizeof *self->filter_qos);
    if (!self->connections || !self->slots || !self->filter_qos) {
        self->host->fail(self->host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    for (uint32_t i = 0; i < run->window; ++i)
        self->slots[i] = (slot){.owner = self, .number = i};
    for (uint32_t i = 0; i < run->filter_count; ++i)
        self->filter_qos[i] = (int)run->filter_qos;
    return MQCORE_OK;
}

static int32_t paho_connect(void* opaque, const mqcore_run* run) {
    driver* self = opaque;
    char text[kTextBytes];
    int32_t status;
    int failed;

    self->run = run;
    atomic_store(&self->lost, 0);
    atomic_store(&self->leaving, 0);
    atomic_store(&self->early, 0);
    if (run->option_count > 0) {
        snprintf(text, sizeof text, "unknown option '%.100s': paho-c has no options",
                 run->options[0].key);
        self->host->fail(self->host, MQCORE_CONFIG, text);
        return MQCORE_CONFIG;
    }
    status = allocate(self);
    if (status != MQCORE_OK)
        return status;
    failed = add_publish_properties(&self->properties, run);
    if (failed)
        return failed_call(self, "MQTTProperties_add", failed);

    expect(self, run->connection_count);
    for (uint32_t i = 0; i < run->connection_count; ++i)
        if ((status = start_connecting(self, i)) != MQCORE_OK)
            return status;
    status = wait_for_answers(self, kConnectSeconds, "CONNACK");
    if (status != MQCORE_OK || run->filter_count == 0)
        return status;

    expect(self, run->connection_count * run->filter_count);
    for (uint32_t i = 0; i < run->connection_count; ++i)
        if ((status = start_subscribing(self, &self->connections[i])) != MQCORE_OK)
            return status;
    return wait_for_answers(self, kConnectSeconds, "SUBACK");
}

static void on_left(void* context, MQTTAsync_successData* data) {
    (void)data;
    answered(((connection*)context)->owner, MQCORE_OK);
}

static void on_left5(void* context, MQTTAsync_successData5* data) {
    (void)data;
    answered(((connection*)context)->owner, MQCORE_OK);
}

/* DISCONNECT on every connection that is still there. */
static void leave(driver* self) {
    uint32_t left = 0;

    expect(self, self->run->connection_count);
    for (uint32_t i = 0; i < self->run->connection_count; ++i) {
        connection* it = &self->connections[i];
        MQTTAsync_disconnectOptions options = MQTTAsync_disconnectOptions_initializer;
        MQTTAsync_disconnectOptions options5 = MQTTAsync_disconnectOptions_initializer5;

        options.context = options5.context = it;
        options.onSuccess = on_left;
        options5.onSuccess5 = on_left5;
        if (it->client && MQTTAsync_disconnect(it->client, self->run->protocol == MQCORE_V5
                                                               ? &options5
                                                               : &options) == MQTTASYNC_SUCCESS)
            ++left;
        else
            answered(self, MQCORE_OK);
    }
    /* The library does not get to DISCONNECT while a message before it is stuck; destroying the
     * client then closes the connection. */
    if (left > 0) {
        struct timespec deadline;
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += kDisconnectSeconds;
        pthread_mutex_lock(&self->lock);
        while (self->waiting_for > 0 &&
               pthread_cond_timedwait(&self->changed, &self->lock, &deadline) == 0)
            continue;
        pthread_mutex_unlock(&self->lock);
    }
}

static int32_t paho_disconnect(void* opaque) {
    driver* self = opaque;
    const unsigned early = atomic_load(&self->early);

    if (!self->connections)
        return MQCORE_OK;
    atomic_store(&self->leaving, 1);
    atomic_store(&self->sink, NULL);
    leave(self);
    /* The library calls back under a lock that MQTTAsync_destroy() takes: a callback that had already
     * read the sink has ended when this loop has. */
    for (uint32_t i = 0; i < self->run->connection_count; ++i)
        if (self->connections[i].client)
            MQTTAsync_destroy(&self->connections[i].client);
    if (early > 0) {
        char text[kTextBytes];
        snprintf(text, sizeof text, "%u messages arrived before drive() and were not reported",
                 early);
        self->host->log(self->host, MQCORE_LOG_WARNING, text);
    }
    MQTTProperties_free(&self->properties);
    memset(&self->properties, 0, sizeof self->properties);
    free(self->connections);
    free(self->slots);
    free(self->filter_qos);
    self->connections = NULL;
    self->slots = NULL;
    self->filter_qos = NULL;
    return MQCORE_OK;
}

static void paho_destroy(void* opaque) {
    driver* self = opaque;

    paho_disconnect(self);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_NOWAIT,
    .id = "paho-c",
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
