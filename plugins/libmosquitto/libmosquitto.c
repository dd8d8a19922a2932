/* The driver of libmosquitto, the client library in C of Eclipse Mosquitto. One thread does everything:
 * mosquitto_publish() writes to the socket at once, and where there is nothing to publish, drive() polls
 * the sockets and lets the library read and write. README.md beside this file says what each completion
 * stands for and why each setting is what it is.
 */
#define _GNU_SOURCE /* ppoll */

#include "mqcore/driver.h"

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    kConnectSeconds = 10,
    kDisconnectSeconds = 2,
    kTextBytes = 512,
    kPacketIds = 65536,
    kSendsBetweenPolls = 64
};

static const uint64_t kSecond = 1000000000u;

typedef struct driver driver;

/* One MQTT connection. */
typedef struct connection {
    driver* owner;
    struct mosquitto* client; /* null: never made                                                 */
    uint32_t index;
    uint16_t publishing; /* slot + 1 of the message inside mosquitto_publish(), 0: none      */
    uint16_t* slots;     /* slot + 1 of each packet identifier in flight, 0: none            */
} connection;

struct driver {
    const mqcore_host* host;
    const mqcore_run* run;
    connection* connections;        /* run->connection_count                                      */
    struct pollfd* polled;          /* one for each connection                                    */
    mosquitto_property* properties; /* of every PUBLISH; null: none                               */
    mqcore_sink* sink;              /* null outside drive()                                       */
    uint32_t waiting_for;           /* CONNACKs or SUBACKs that are still to come                 */
    int32_t status;                 /* of the first failure, else MQCORE_OK                       */
    bool leaving;                   /* disconnect() has begun: losing a connection is no news     */
    uint32_t early;                 /* messages that arrived before drive()                       */
    char log[kTextBytes];           /* first error that the library logged while connecting       */
};

static int32_t fail(driver* self, int32_t status, const char* text) {
    self->host->fail(self->host, status, text);
    if (self->status == MQCORE_OK)
        self->status = status;
    return status;
}

/* A call of the library that was refused at once. */
static int32_t failed_call(driver* self, int32_t status, const char* call, int code) {
    char text[2 * kTextBytes];

    snprintf(text, sizeof text, "%s: %s%s%s", call,
             code == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(code),
             self->log[0] ? "; " : "", self->log);
    return fail(self, status, text);
}

/* ---- the network ------------------------------------------------------------------------------ */

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * kSecond + (uint64_t)now.tv_nsec;
}

/* `code` is an MQTT 5 reason code of the server or an error of the library. */
static void on_lost(struct mosquitto* client, void* context, int code,
                    const mosquitto_property* properties) {
    connection* it = context;
    driver* self = it->owner;
    char text[2 * kTextBytes];

    (void)client, (void)properties;
    if (self->leaving)
        return;
    if (code >= 0x80)
        snprintf(text, sizeof text,
                 "connection %u: the server disconnected: %s (reason code 0x%02x)", it->index,
                 mosquitto_reason_string(code), (unsigned)code);
    else
        snprintf(text, sizeof text, "connection %u to '%s' port %u was lost: %s%s%s", it->index,
                 self->run->host, self->run->port,
                 code == MOSQ_ERR_ERRNO ? strerror(errno) : mosquitto_strerror(code),
                 self->log[0] ? "; " : "", self->log);
    fail(self, MQCORE_NETWORK, text);
}

/* Lets the library read and write, once something can be read or written, at most until `until_ns`. */
static void serve(driver* self, uint64_t until_ns) {
    const uint32_t count = self->run->connection_count;
    const uint64_t now = now_ns();
    uint64_t rest = until_ns > now ? until_ns - now : 0;
    struct timespec timeout;
    int ready;

    if (rest > kSecond)
        rest = kSecond; /* mosquitto_loop_misc() keeps time in seconds */
    timeout.tv_sec = (time_t)(rest / kSecond);
    timeout.tv_nsec = (long)(rest % kSecond);
    for (uint32_t i = 0; i < count; ++i) {
        struct mosquitto* client = self->connections[i].client;
        self->polled[i].fd = mosquitto_socket(client);
        self->polled[i].events = (short)(POLLIN | (mosquitto_want_write(client) ? POLLOUT : 0));
    }
    ready = ppoll(self->polled, count, &timeout, NULL);
    for (uint32_t i = 0; i < count; ++i) {
        struct mosquitto* client = self->connections[i].client;
        const int events = ready > 0 ? self->polled[i].revents : 0;
        int code = MOSQ_ERR_SUCCESS;
        if (events & (POLLIN | POLLHUP | POLLERR))
            code = mosquitto_loop_read(client, 1);
        if (code == MOSQ_ERR_SUCCESS && (events & POLLOUT))
            code = mosquitto_loop_write(client, 1);
        if (code == MOSQ_ERR_SUCCESS)
            code = mosquitto_loop_misc(client);
        /* The library calls it itself, but not for a failed TLS handshake. */
        if (code != MOSQ_ERR_SUCCESS)
            on_lost(client, &self->connections[i], code, NULL);
    }
}

static int32_t serve_until_answered(driver* self, const char* what) {
    const uint64_t deadline = now_ns() + kConnectSeconds * kSecond;
    char text[kTextBytes];

    while (self->waiting_for > 0 && self->status == MQCORE_OK) {
        if (now_ns() >= deadline) {
            snprintf(text, sizeof text, "no %s within %d s", what, kConnectSeconds);
            return fail(self, MQCORE_NETWORK, text);
        }
        serve(self, deadline);
    }
    return self->status;
}

/* ---- connecting and subscribing --------------------------------------------------------------- */

static void on_log(struct mosquitto* client, void* context, int level, const char* text) {
    driver* self = ((connection*)context)->owner;

    (void)client;
    if (level == MOSQ_LOG_ERR && !self->log[0])
        snprintf(self->log, sizeof self->log, "%s", text);
}

static void on_connected(struct mosquitto* client, void* context, int code, int flags,
                         const mosquitto_property* properties) {
    driver* self = ((connection*)context)->owner;
    char text[kTextBytes];

    (void)flags, (void)properties;
    if (code == 0) {
        const SSL* tls = mosquitto_ssl_get(client);
        if (tls) {
            self->host->note(self->host, "tls.version", SSL_get_version(tls));
            self->host->note(self->host, "tls.cipher", SSL_get_cipher_name(tls));
        }
        --self->waiting_for;
        return;
    }
    snprintf(text, sizeof text, "connect to '%s' port %u: %s (code %d)", self->run->host,
             self->run->port,
             self->run->protocol == MQCORE_V5 ? mosquitto_reason_string(code)
                                              : mosquitto_connack_string(code),
             code);
    fail(self, MQCORE_NETWORK, text);
}

static void on_subscribed(struct mosquitto* client, void* context, int id, int count,
                          const int* granted) {
    driver* self = ((connection*)context)->owner;
    const mqcore_run* run = self->run;
    char text[kTextBytes];

    (void)client, (void)id;
    for (int i = 0; i < count && i < (int)run->filter_count; ++i) {
        if (granted[i] >= 0x80) {
            snprintf(text, sizeof text, "the broker refused to subscribe '%.200s' (code 0x%02x)",
                     run->filters[i], (unsigned)granted[i]);
            fail(self, MQCORE_NETWORK, text);
        } else if (granted[i] < (int)run->filter_qos) {
            snprintf(text, sizeof text,
                     "the broker granted QoS %d for '%.200s', QoS %u was asked for", granted[i],
                     run->filters[i], run->filter_qos);
            fail(self, MQCORE_UNSUPPORTED, text);
        }
    }
    --self->waiting_for;
}

static void on_completed(struct mosquitto* client, void* context, int id, int code,
                         const mosquitto_property* properties);
static void on_message(struct mosquitto* client, void* context,
                       const struct mosquitto_message* message);

static int32_t start_connecting(driver* self, uint32_t index) {
    const mqcore_run* run = self->run;
    const bool v5 = run->protocol == MQCORE_V5;
    connection* it = &self->connections[index];
    char client_id[kTextBytes];
    char text[kTextBytes];
    int code;

    it->owner = self;
    it->index = index;
    if (snprintf(client_id, sizeof client_id, index == 0 ? "%s" : "%s-%u", run->client_id, index) >=
        (int)sizeof client_id)
        return fail(self, MQCORE_CONFIG, "the client id is too long");
    it->slots = calloc(kPacketIds, sizeof *it->slots);
    it->client = mosquitto_new(client_id, true, it);
    if (!it->slots || !it->client)
        return fail(self, MQCORE_LIBRARY, "out of memory");

    mosquitto_log_callback_set(it->client, on_log);
    mosquitto_connect_v5_callback_set(it->client, on_connected);
    mosquitto_disconnect_v5_callback_set(it->client, on_lost);
    mosquitto_subscribe_callback_set(it->client, on_subscribed);
    mosquitto_publish_v5_callback_set(it->client, on_completed);
    mosquitto_message_callback_set(it->client, on_message);
    const struct {
        enum mosq_opt_t option;
        int value;
    } options[] = {
        {MOSQ_OPT_PROTOCOL_VERSION, v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311},
        {MOSQ_OPT_SEND_MAXIMUM, (int)run->window}, /* 0: no limit */
        {MOSQ_OPT_RECEIVE_MAXIMUM, (int)run->receive_maximum},
        {MOSQ_OPT_TCP_NODELAY, 1},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        code = mosquitto_int_option(it->client, options[i].option, options[i].value);
        if (code != MOSQ_ERR_SUCCESS)
            return failed_call(self, MQCORE_LIBRARY, "mosquitto_int_option", code);
    }
    if (run->ca_file) {
        code = mosquitto_tls_set(it->client, run->ca_file, NULL, NULL, NULL, NULL);
        if (code != MOSQ_ERR_SUCCESS)
            return failed_call(self, MQCORE_CONFIG, "mosquitto_tls_set", code);
    }
    code = mosquitto_connect(it->client, run->host, (int)run->port, (int)run->keepalive_s);
    if (code != MOSQ_ERR_SUCCESS) {
        snprintf(text, sizeof text, "connect to '%.200s' port %u", run->host, run->port);
        return failed_call(self, code == MOSQ_ERR_INVAL ? MQCORE_CONFIG : MQCORE_NETWORK, text,
                           code);
    }
    return MQCORE_OK;
}

static int32_t connect_all(driver* self) {
    const mqcore_run* run = self->run;
    int32_t status;
    int code;

    self->waiting_for = run->connection_count;
    for (uint32_t i = 0; i < run->connection_count; ++i)
        if ((status = start_connecting(self, i)) != MQCORE_OK)
            return status;
    status = serve_until_answered(self, "CONNACK");
    /* With a log callback the library formats a line for each packet. */
    for (uint32_t i = 0; i < run->connection_count; ++i)
        mosquitto_log_callback_set(self->connections[i].client, NULL);
    if (status != MQCORE_OK || run->filter_count == 0)
        return status;

    self->waiting_for = run->connection_count;
    for (uint32_t i = 0; i < run->connection_count; ++i) {
        code =
            mosquitto_subscribe_multiple(self->connections[i].client, NULL, (int)run->filter_count,
                                         (char* const*)run->filters, (int)run->filter_qos, 0, NULL);
        if (code != MOSQ_ERR_SUCCESS)
            return failed_call(self, MQCORE_LIBRARY, "mosquitto_subscribe_multiple", code);
    }
    return serve_until_answered(self, "SUBACK");
}

/* The library copies them for each message. All of a run's messages carry the same. */
static int32_t make_properties(driver* self) {
    const mqcore_run* run = self->run;
    mosquitto_property** list = &self->properties;
    int code = MOSQ_ERR_SUCCESS;

    if (run->properties_count > 0) {
        const mqcore_properties* set = run->properties[0];
        if (set->content_type)
            code = mosquitto_property_add_string(list, MQTT_PROP_CONTENT_TYPE, set->content_type);
        if (code == MOSQ_ERR_SUCCESS && set->response_topic)
            code =
                mosquitto_property_add_string(list, MQTT_PROP_RESPONSE_TOPIC, set->response_topic);
        if (code == MOSQ_ERR_SUCCESS && set->correlation_data)
            code = mosquitto_property_add_binary(list, MQTT_PROP_CORRELATION_DATA,
                                                 set->correlation_data,
                                                 (uint16_t)set->correlation_data_bytes);
        for (uint32_t i = 0; code == MOSQ_ERR_SUCCESS && i < set->user_count; ++i)
            code = mosquitto_property_add_string_pair(list, MQTT_PROP_USER_PROPERTY,
                                                      set->user[i].name, set->user[i].value);
    }
    if (code == MOSQ_ERR_SUCCESS && run->topic_alias_max > 0)
        code = mosquitto_property_add_int16(list, MQTT_PROP_TOPIC_ALIAS,
                                            (uint16_t)run->topic_alias_max);
    return code == MOSQ_ERR_SUCCESS
               ? MQCORE_OK
               : failed_call(self, MQCORE_LIBRARY, "mosquitto_property_add", code);
}

/* ---- the measured path ------------------------------------------------------------------------ */

/* Inside mosquitto_publish() for a QoS 0 message that the socket took at once: then its packet identifier
 * is not known yet. */
static void on_completed(struct mosquitto* client, void* context, int id, int code,
                         const mosquitto_property* properties) {
    connection* it = context;
    driver* self = it->owner;
    uint16_t* slot = it->slots[id] ? &it->slots[id] : &it->publishing;

    (void)client, (void)properties;
    if (self->sink && *slot)
        self->sink->done(self->sink, *slot - 1u, code < 0x80 ? MQCORE_OK : MQCORE_NETWORK);
    *slot = 0;
}

static void on_message(struct mosquitto* client, void* context,
                       const struct mosquitto_message* message) {
    connection* it = context;
    driver* self = it->owner;

    (void)client;
    if (self->sink)
        self->sink->received(self->sink, message->payload, (uint32_t)message->payloadlen,
                             MQCORE_NONE, it->index);
    else if (!self->leaving)
        ++self->early;
}

static void publish(driver* self, const mqcore_message* message) {
    connection* it = &self->connections[message->connection];
    int id = 0;
    int code;

    it->publishing = (uint16_t)(message->slot + 1u);
    code = mosquitto_publish_v5(it->client, &id, self->run->topics[message->topic],
                                (int)message->payload_bytes, message->payload, message->qos,
                                message->retain, self->properties);
    if (code != MOSQ_ERR_SUCCESS)
        failed_call(self, MQCORE_NETWORK, "mosquitto_publish_v5", code);
    else if (it->publishing)
        it->slots[id] = it->publishing;
    it->publishing = 0;
}

static int32_t driver_drive(void* opaque, mqcore_source* source, mqcore_sink* sink) {
    driver* self = opaque;
    const mqcore_message* message;
    uint32_t sends = 0;

    self->sink = sink;
    while (self->status == MQCORE_OK) {
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            publish(self, message);
            /* A stream of messages must not keep the library from reading. */
            if (++sends >= kSendsBetweenPolls) {
                sends = 0;
                serve(self, 0);
            }
            break;
        case MQCORE_WAIT:
        case MQCORE_DRAIN:
            sends = 0;
            serve(self, source->wake_ns);
            break;
        default:
            return MQCORE_OK;
        }
    }
    return self->status;
}

/* ---- life ------------------------------------------------------------------------------------- */

static int32_t driver_create(const mqcore_host* host, void** out) {
    driver* self = calloc(1, sizeof *self);
    char version[32];
    int major, minor, revision;

    *out = self;
    if (!self) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    self->host = host;
    mosquitto_lib_init();
    mosquitto_lib_version(&major, &minor, &revision);
    snprintf(version, sizeof version, "%d.%d.%d", major, minor, revision);
    host->note(host, "library.version", version);
    return MQCORE_OK;
}

static int32_t driver_connect(void* opaque, const mqcore_run* run) {
    driver* self = opaque;
    char text[kTextBytes];
    int32_t status;

    self->run = run;
    self->status = MQCORE_OK;
    self->leaving = false;
    self->early = 0;
    self->log[0] = '\0';
    if (run->option_count > 0) {
        snprintf(text, sizeof text, "unknown option '%.100s': libmosquitto has no options",
                 run->options[0].key);
        return fail(self, MQCORE_CONFIG, text);
    }
    self->connections = calloc(run->connection_count, sizeof *self->connections);
    self->polled = calloc(run->connection_count, sizeof *self->polled);
    if (!self->connections || !self->polled)
        return fail(self, MQCORE_LIBRARY, "out of memory");
    status = make_properties(self);
    return status == MQCORE_OK ? connect_all(self) : status;
}

/* DISCONNECT on every connection that is still there. The library closes the socket when it is out. */
static void leave(driver* self) {
    const uint64_t deadline = now_ns() + kDisconnectSeconds * kSecond;
    const uint32_t count = self->run->connection_count;
    uint32_t open = 0;

    for (uint32_t i = 0; i < count; ++i)
        if (self->connections[i].client)
            mosquitto_disconnect(self->connections[i].client);
    do {
        if (open > 0)
            serve(self, now_ns() + kSecond / 20);
        open = 0;
        for (uint32_t i = 0; i < count; ++i)
            open += mosquitto_socket(self->connections[i].client) >= 0;
    } while (open > 0 && now_ns() < deadline);
}

static int32_t driver_disconnect(void* opaque) {
    driver* self = opaque;
    char text[kTextBytes];

    self->leaving = true;
    self->sink = NULL;
    if (self->connections) {
        leave(self);
        for (uint32_t i = 0; i < self->run->connection_count; ++i) {
            mosquitto_destroy(self->connections[i].client);
            free(self->connections[i].slots);
        }
    }
    if (self->early > 0) {
        snprintf(text, sizeof text, "%u messages arrived before drive() and were not reported",
                 self->early);
        self->host->log(self->host, MQCORE_LOG_WARNING, text);
    }
    mosquitto_property_free_all(&self->properties);
    free(self->connections);
    free(self->polled);
    self->connections = NULL;
    self->polled = NULL;
    return MQCORE_OK;
}

static void driver_destroy(void* opaque) {
    driver_disconnect(opaque);
    mosquitto_lib_cleanup();
    free(opaque);
}

static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = "libmosquitto",
    .library = "libmosquitto",
    .protocols = MQCORE_V311 | MQCORE_V5,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .features = MQCORE_FEATURE_TLS | MQCORE_FEATURE_PUBLISH_PROPERTIES |
                MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM |
                MQCORE_FEATURE_MANY_CONNECTIONS,
    .max_window = 65535,
    .qos0_completion = MQCORE_QOS0_WRITTEN,
};

static const mqcore_driver kDriver = {
    .magic = MQCORE_MAGIC,
    .size = sizeof(mqcore_driver),
    .abi_major = MQCORE_ABI_MAJOR,
    .abi_minor = MQCORE_ABI_MINOR,
    .needs_host_minor = 0,
    .info = &kInfo,
    .create = driver_create,
    .connect = driver_connect,
    .drive = driver_drive,
    .disconnect = driver_disconnect,
    .destroy = driver_destroy,
    .extension = NULL,
};

const mqcore_driver* mqcore_driver_entry(const char* driver_folder) {
    (void)driver_folder;
    return &kDriver;
}
