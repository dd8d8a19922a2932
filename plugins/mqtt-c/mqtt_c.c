/* The driver of MQTT-C. One thread does everything: mqtt_publish() puts a packet into the library's queue,
 * mqtt_sync() reads, acknowledges and writes, and where there is nothing to do, drive() polls the sockets.
 * README.md beside this file says what each completion stands for and why each setting is what it is.
 */
#define _GNU_SOURCE /* ppoll */

#include "mqcore/driver.h"

#include <mqtt.h>

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    kConnectSeconds = 10,
    kTextBytes = 512,
    kHeaderBytes = 16,          /* at least fixed header, topic length and packet identifier      */
    kAcknowledgementBytes = 4,  /* PUBACK and its like                                            */
    kUnacknowledgedMax = 65535, /* messages that a server may send before the first PUBACK        */
    kReceiveBytes = 4096,       /* more than the largest packet: what an arrival's topic may be
                                    longer than its filter, and what is read at once              */
    kSendsBetweenSyncs = 64,
    kSendsKept = 64 /* finished entries of the queue that are not worth to be removed */
};

static const uint64_t kSecond = 1000000000u;

typedef struct driver driver;

/* A message that the library has and that is not done. */
typedef struct pending {
    uint16_t packet_id;
    uint16_t slot;
    uint8_t qos;
} pending;

/* One MQTT connection. */
typedef struct connection {
    driver* owner;
    struct mqtt_client client;
    int socket; /* -1: none                                                                       */
    uint8_t* send_buffer;
    uint8_t* receive_buffer;
    uint32_t index;
    bool
        is_connected; /* CONNACK has come                                                         */
    bool has_unsent;  /* mqtt_sync() has something to write                                       */
    pending* pending; /* a ring of run->window, in the order of publishing                        */
    uint32_t first;
    uint32_t count;
} connection;

struct driver {
    const mqcore_host* host;
    const mqcore_run* run;
    connection* connections; /* run->connection_count                                             */
    struct pollfd* polled;   /* one for each connection                                           */
    size_t topic_bytes_max;
    mqcore_sink* sink; /* null outside drive()                                                    */
    int32_t status;    /* of the first failure, else MQCORE_OK                                    */
    bool leaving;
    uint64_t round_ns; /* when every connection is served, whether its socket is ready or not     */
    uint32_t early; /* messages that arrived before drive()                                       */
};

static int32_t fail(driver* self, int32_t status, const char* text) {
    self->host->fail(self->host, status, text);
    if (self->status == MQCORE_OK)
        self->status = status;
    return status;
}

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * kSecond + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / kSecond), .tv_nsec = (long)(ns % kSecond)};
}

/* ---- the library's queue ---------------------------------------------------------------------- */

/* The library calls back for arrivals only. What has become of a packet is its state in the queue, which
 * mqtt.h documents; one that is no longer there was removed because it is complete. */
static bool is_complete(const connection* it, enum MQTTControlPacketType type, uint16_t packet_id) {
    const struct mqtt_queued_message* found = mqtt_mq_find(&it->client.mq, type, &packet_id);
    return !found || found->state == MQTT_QUEUED_COMPLETE;
}

/* QoS 2: PUBLISH is complete at PUBREC, when PUBREL takes its place, and that at PUBCOMP. */
static bool is_finished(const connection* it, const pending* message) {
    return is_complete(it, MQTT_CONTROL_PUBLISH, message->packet_id) &&
           (message->qos < 2 || is_complete(it, MQTT_CONTROL_PUBREL, message->packet_id));
}

/* Something waits for the socket: not a PUBLISH of QoS 2 that the library holds back for the one before it. */
static bool wants_to_write(const connection* it) {
    const struct mqtt_message_queue* queue = &it->client.mq;
    const ssize_t length = mqtt_mq_length(queue);
    bool has_qos2 = false;

    /* The library writes in order: where the newest went out, the older ones did, or are held back. */
    if (length == 0 || queue->queue_tail->state != MQTT_QUEUED_UNSENT)
        return false;
    for (ssize_t i = 0; i < length; ++i) {
        const struct mqtt_queued_message* entry = mqtt_mq_get(queue, i);
        const bool is_qos2 = entry->control_type == MQTT_CONTROL_PUBLISH &&
                             (entry->start[0] & MQTT_PUBLISH_QOS_MASK) == MQTT_PUBLISH_QOS_2;
        if (entry->state == MQTT_QUEUED_UNSENT && !(is_qos2 && has_qos2))
            return true;
        has_qos2 = has_qos2 || (is_qos2 && entry->state != MQTT_QUEUED_COMPLETE);
    }
    return false;
}

/* Each walk of the library through its queue gets longer with what is complete in it, and removing that
 * moves the rest in memory: so it goes when it is the larger part. The library itself removes it only when
 * its buffer is full. */
static void tidy(connection* it) {
    struct mqtt_message_queue* queue = &it->client.mq;

    if (it->count == 0 || mqtt_mq_length(queue) > 2 * (ssize_t)it->count + kSendsKept)
        mqtt_mq_clean(queue);
}

/* Reads, answers and writes; then tells what is done. */
static void work(connection* it) {
    driver* self = it->owner;
    char text[kTextBytes];
    const enum MQTTErrors code = mqtt_sync(&it->client);

    while (it->count > 0 && is_finished(it, &it->pending[it->first])) {
        if (self->sink)
            self->sink->done(self->sink, it->pending[it->first].slot, MQCORE_OK);
        it->first = it->first + 1 == self->run->window ? 0 : it->first + 1;
        --it->count;
    }
    tidy(it);
    it->has_unsent = wants_to_write(it);
    if (code == MQTT_OK || self->leaving || self->status != MQCORE_OK)
        return;
    snprintf(text, sizeof text,
             it->is_connected ? "connection %u to '%.200s' port %u was lost: %s"
                              : "connect %u to '%.200s' port %u: %s",
             it->index, self->run->host, self->run->port, mqtt_error_str(code));
    fail(self, MQCORE_NETWORK, text);
}

/* Lets the library work, once a socket can be read or written, at most until `until_ns`. */
static void serve(driver* self, uint64_t until_ns) {
    const uint32_t count = self->run->connection_count;
    const uint64_t now = now_ns();
    const uint64_t rest = until_ns <= now ? 0 : until_ns - now > kSecond ? kSecond : until_ns - now;
    const struct timespec timeout = timespec_of(rest);
    /* mqtt_sync() looks after keep alive, in seconds. */
    const bool is_round = now >= self->round_ns;
    int ready;

    if (is_round)
        self->round_ns = now + kSecond;
    for (uint32_t i = 0; i < count; ++i) {
        const connection* it = &self->connections[i];
        self->polled[i].fd = it->socket;
        self->polled[i].events = (short)(POLLIN | (it->has_unsent ? POLLOUT : 0));
    }
    ready = ppoll(self->polled, count, &timeout, NULL);
    for (uint32_t i = 0; i < count && self->status == MQCORE_OK; ++i)
        if (is_round || (ready > 0 && self->polled[i].revents != 0))
            work(&self->connections[i]);
}

/* Sends what publish() has put into the queues. True: something became done. */
static bool flush(driver* self) {
    bool is_any_done = false;

    for (uint32_t i = 0; i < self->run->connection_count; ++i) {
        connection* it = &self->connections[i];
        const uint32_t before = it->count;
        if (it->has_unsent)
            work(it);
        is_any_done = is_any_done || it->count < before;
    }
    return is_any_done;
}

/* ---- connecting and subscribing --------------------------------------------------------------- */

/* The library takes a connected socket that does not block. */
static int32_t open_socket(connection* it, uint64_t deadline) {
    driver* self = it->owner;
    const mqcore_run* run = self->run;
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo* found = NULL;
    char port[8];
    char text[kTextBytes];
    int error;

    snprintf(port, sizeof port, "%u", run->port);
    error = getaddrinfo(run->host, port, &hints, &found);
    if (error != 0) {
        snprintf(text, sizeof text, "connect to '%.200s' port %s: %s", run->host, port,
                 gai_strerror(error));
        return fail(self, MQCORE_NETWORK, text);
    }
    error = 0;
    for (const struct addrinfo* at = found; at && it->socket < 0; at = at->ai_next) {
        const int one = 1;
        const int fd =
            socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, at->ai_protocol);
        struct pollfd polled = {.fd = fd, .events = POLLOUT};
        socklen_t size = sizeof error;

        if (fd < 0) {
            error = errno;
            continue;
        }
        error = connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) {
            const uint64_t now = now_ns();
            const struct timespec timeout = timespec_of(deadline > now ? deadline - now : 0);
            if (ppoll(&polled, 1, &timeout, NULL) == 1)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
            else
                error = ETIMEDOUT;
        }
        if (error == 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) != 0)
            error = errno;
        if (error == 0)
            it->socket = fd;
        else
            close(fd);
    }
    freeaddrinfo(found);
    if (it->socket >= 0)
        return MQCORE_OK;
    snprintf(text, sizeof text, "connect to '%.200s' port %s: %s", run->host, port,
             strerror(error));
    return fail(self, MQCORE_NETWORK, text);
}

static void on_message(void** context, struct mqtt_response_publish* message) {
    const connection* it = *context;
    driver* self = it->owner;

    if (self->sink)
        self->sink->received(self->sink, message->application_message,
                             (uint32_t)message->application_message_size, MQCORE_NONE, it->index);
    else if (!self->leaving)
        ++self->early;
}

static int32_t start_connecting(driver* self, uint32_t index, uint64_t deadline) {
    const mqcore_run* run = self->run;
    connection* it = &self->connections[index];
    const size_t packet = run->payload_bytes_max + self->topic_bytes_max + kHeaderBytes;
    const size_t entry = sizeof(struct mqtt_queued_message);
    /* A full buffer ends the connection. It holds every message of the window, PUBREL included, what tidy()
     * leaves, and the acknowledgements of all that a server may send at once. Pages that are not used are
     * not touched. */
    const size_t send_bytes =
        (2 * (size_t)run->window + kSendsKept + 4) * (packet + entry) +
        (kUnacknowledgedMax + (size_t)run->window) * (kAcknowledgementBytes + entry);
    const size_t receive_bytes = packet + kReceiveBytes;
    char client_id[kTextBytes];
    char text[kTextBytes];
    enum MQTTErrors code;
    int32_t status;

    it->index = index;
    if (snprintf(client_id, sizeof client_id, index == 0 ? "%s" : "%s-%u", run->client_id, index) >=
        (int)sizeof client_id)
        return fail(self, MQCORE_CONFIG, "the client id is too long");
    it->pending = calloc(run->window > 0 ? run->window : 1, sizeof *it->pending);
    /* The entries of the queue stand at the end of the buffer and have to be aligned. */
    it->send_buffer = malloc(send_bytes / entry * entry);
    it->receive_buffer = malloc(receive_bytes);
    if (!it->pending || !it->send_buffer || !it->receive_buffer)
        return fail(self, MQCORE_LIBRARY, "out of memory");
    status = open_socket(it, deadline);
    if (status != MQCORE_OK)
        return status;
    mqtt_init(&it->client, it->socket, it->send_buffer, send_bytes / entry * entry,
              it->receive_buffer, receive_bytes, on_message);
    it->client.publish_response_callback_state = it;
    code = mqtt_connect(&it->client, client_id, NULL, NULL, 0, NULL, NULL,
                        MQTT_CONNECT_CLEAN_SESSION, (uint16_t)run->keepalive_s);
    if (code == MQTT_OK) {
        it->has_unsent = true;
        return MQCORE_OK;
    }
    snprintf(text, sizeof text, "mqtt_connect: %s", mqtt_error_str(code));
    return fail(self, MQCORE_LIBRARY, text);
}

static int32_t wait_for_connack(connection* it, uint64_t deadline) {
    driver* self = it->owner;
    char text[kTextBytes];

    while (mqtt_mq_find(&it->client.mq, MQTT_CONTROL_CONNECT, NULL)) {
        if (now_ns() >= deadline) {
            snprintf(text, sizeof text, "no CONNACK within %d s", kConnectSeconds);
            return fail(self, MQCORE_NETWORK, text);
        }
        serve(self, deadline);
        if (self->status != MQCORE_OK)
            return self->status;
    }
    it->is_connected = true;
    return MQCORE_OK;
}

/* The library tells that a subscription was refused, not which QoS was granted. So the answer is looked at
 * in the socket, with the library's own unpacker, before the library takes it out. -1: not there yet. */
static int peeked_suback(const connection* it) {
    static uint8_t bytes[65536];
    const ssize_t count = recv(it->socket, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);

    for (ssize_t at = 0; at < count;) {
        struct mqtt_response response;
        const ssize_t taken = mqtt_unpack_response(&response, bytes + at, (size_t)(count - at));
        if (taken <= 0)
            break;
        if (response.fixed_header.control_type == MQTT_CONTROL_SUBACK)
            return response.decoded.suback.return_codes[0];
        at += taken;
    }
    return -1;
}

static int32_t subscribe(connection* it, const char* filter) {
    driver* self = it->owner;
    const uint64_t deadline = now_ns() + kConnectSeconds * kSecond;
    const struct timespec nap = timespec_of(kSecond / 5000);
    char text[kTextBytes];
    int granted = -1;
    const enum MQTTErrors code = mqtt_subscribe(&it->client, filter, (int)self->run->filter_qos);

    if (code != MQTT_OK) {
        snprintf(text, sizeof text, "mqtt_subscribe: %s", mqtt_error_str(code));
        return fail(self, MQCORE_LIBRARY, text);
    }
    work(it);
    while (self->status == MQCORE_OK && (granted = peeked_suback(it)) < 0) {
        struct pollfd polled = {.fd = it->socket, .events = POLLRDHUP};
        if (now_ns() >= deadline) {
            snprintf(text, sizeof text, "no SUBACK within %d s", kConnectSeconds);
            return fail(self, MQCORE_NETWORK, text);
        }
        if (ppoll(&polled, 1, &nap, NULL) != 0)
            work(it); /* the connection is lost: the library says so */
    }
    if (self->status != MQCORE_OK)
        return self->status;
    if (granted >= 0x80)
        snprintf(text, sizeof text, "the broker refused to subscribe '%.200s' (code 0x%02x)",
                 filter, (unsigned)granted);
    else
        snprintf(text, sizeof text, "the broker granted QoS %d for '%.200s', QoS %u was asked for",
                 granted, filter, self->run->filter_qos);
    if (granted >= 0x80 || granted < (int)self->run->filter_qos)
        return fail(self, granted >= 0x80 ? MQCORE_NETWORK : MQCORE_UNSUPPORTED, text);
    while (self->status == MQCORE_OK && mqtt_mq_find(&it->client.mq, MQTT_CONTROL_SUBSCRIBE, NULL))
        serve(self, deadline);
    return self->status;
}

static int32_t connect_all(driver* self) {
    const mqcore_run* run = self->run;
    const uint64_t deadline = now_ns() + kConnectSeconds * kSecond;

    for (uint32_t i = 0; i < run->connection_count; ++i)
        start_connecting(self, i, deadline);
    flush(self);
    for (uint32_t i = 0; i < run->connection_count && self->status == MQCORE_OK; ++i)
        wait_for_connack(&self->connections[i], deadline);
    for (uint32_t i = 0; i < run->connection_count; ++i)
        for (uint32_t n = 0; n < run->filter_count && self->status == MQCORE_OK; ++n)
            subscribe(&self->connections[i], run->filters[n]);
    return self->status;
}

/* ---- the measured path ------------------------------------------------------------------------ */

static void publish(driver* self, const mqcore_message* message) {
    static const uint8_t kQos[] = {MQTT_PUBLISH_QOS_0, MQTT_PUBLISH_QOS_1, MQTT_PUBLISH_QOS_2};
    connection* it = &self->connections[message->connection];
    uint32_t last = it->first + it->count;
    char text[kTextBytes];
    const enum MQTTErrors code = mqtt_publish(
        &it->client, self->run->topics[message->topic], message->payload, message->payload_bytes,
        (uint8_t)(kQos[message->qos] | (message->retain ? MQTT_PUBLISH_RETAIN : 0)));

    if (code != MQTT_OK) {
        snprintf(text, sizeof text, "mqtt_publish: %s", mqtt_error_str(code));
        fail(self, MQCORE_LIBRARY, text);
        return;
    }
    if (last >= self->run->window)
        last -= self->run->window;
    it->pending[last] = (pending){.packet_id = it->client.mq.queue_tail->packet_id,
                                  .slot = message->slot,
                                  .qos = message->qos};
    ++it->count;
    it->has_unsent = true;
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
            if (++sends >= kSendsBetweenSyncs) {
                sends = 0;
                flush(self);
            }
            break;
        case MQCORE_WAIT:
        case MQCORE_DRAIN:
            if (sends == 0 || !flush(self))
                serve(self, source->wake_ns);
            sends = 0;
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

    *out = self;
    if (!self) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
        return MQCORE_LIBRARY;
    }
    self->host = host;
    if (LIBRARY_VERSION[0])
        host->note(host, "library.version", LIBRARY_VERSION);
    return MQCORE_OK;
}

static int32_t driver_connect(void* opaque, const mqcore_run* run) {
    driver* self = opaque;
    char text[kTextBytes];

    self->run = run;
    self->status = MQCORE_OK;
    self->leaving = false;
    self->early = 0;
    self->topic_bytes_max = 0;
    if (run->option_count > 0) {
        snprintf(text, sizeof text, "unknown option '%.100s': mqtt-c has no options",
                 run->options[0].key);
        return fail(self, MQCORE_CONFIG, text);
    }
    if (run->protocol != MQCORE_V311)
        return fail(self, MQCORE_UNSUPPORTED, "MQTT-C speaks MQTT 3.1.1 alone");
    if (run->ca_file)
        return fail(self, MQCORE_UNSUPPORTED, "MQTT-C is built without TLS here");
    for (uint32_t i = 0; i < run->topic_count; ++i)
        if (strlen(run->topics[i]) > self->topic_bytes_max)
            self->topic_bytes_max = strlen(run->topics[i]);
    for (uint32_t i = 0; i < run->filter_count; ++i)
        if (strlen(run->filters[i]) > self->topic_bytes_max)
            self->topic_bytes_max = strlen(run->filters[i]);
    self->connections = calloc(run->connection_count, sizeof *self->connections);
    self->polled = calloc(run->connection_count, sizeof *self->polled);
    if (!self->connections || !self->polled)
        return fail(self, MQCORE_LIBRARY, "out of memory");
    for (uint32_t i = 0; i < run->connection_count; ++i) {
        self->connections[i].owner = self;
        self->connections[i].socket = -1;
    }
    return connect_all(self);
}

static int32_t driver_disconnect(void* opaque) {
    driver* self = opaque;
    char text[kTextBytes];

    self->leaving = true;
    self->sink = NULL;
    for (uint32_t i = 0; self->connections && i < self->run->connection_count; ++i) {
        connection* it = &self->connections[i];
        if (it->is_connected && mqtt_disconnect(&it->client) == MQTT_OK)
            mqtt_sync(&it->client);
        if (it->socket >= 0)
            close(it->socket);
        free(it->pending);
        free(it->send_buffer);
        free(it->receive_buffer);
    }
    if (self->early > 0) {
        snprintf(text, sizeof text, "%u messages arrived before drive() and were not reported",
                 self->early);
        self->host->log(self->host, MQCORE_LOG_WARNING, text);
        self->early = 0;
    }
    free(self->connections);
    free(self->polled);
    self->connections = NULL;
    self->polled = NULL;
    return MQCORE_OK;
}

static void driver_destroy(void* opaque) {
    driver_disconnect(opaque);
    free(opaque);
}

static const mqcore_info kInfo = {
    .size = sizeof(mqcore_info),
    .shape = MQCORE_SHAPE_SYNC,
    .id = "mqtt-c",
    .library = "MQTT-C",
    .protocols = MQCORE_V311,
    .publish_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .subscribe_qos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2,
    .features = MQCORE_FEATURE_MANY_CONNECTIONS,
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
