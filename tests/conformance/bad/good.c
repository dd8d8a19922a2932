#define _POSIX_C_SOURCE 200809L

#include "good.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kConnack = 2, kPublish = 3, kPuback = 4, kSuback = 9, kConnectMs = 10000 };

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int32_t fail(good* self, int32_t status, const char* text) {
    self->host->fail(self->host, status, text);
    return status;
}

/* ---- bytes ------------------------------------------------------------------------------------ */

static int32_t wait_for(good* self, short events, int timeout_ms) {
    struct pollfd it = {.fd = self->socket, .events = events};

    return poll(&it, 1, timeout_ms) > 0;
}

static int32_t write_all(good* self, const uint8_t* bytes, size_t count) {
    while (count > 0) {
        const ssize_t written = send(self->socket, bytes, count, MSG_NOSIGNAL);
        if (written >= 0) {
            bytes += written;
            count -= (size_t)written;
        } else if (errno == EAGAIN && wait_for(self, POLLOUT, kConnectMs)) {
            continue;
        } else {
            return fail(self, MQCORE_NETWORK, "the connection was lost while writing");
        }
    }
    return MQCORE_OK;
}

static size_t put_length(uint8_t* out, size_t length) {
    size_t count = 0;

    do {
        out[count] = (uint8_t)(length % 128);
        length /= 128;
        if (length > 0)
            out[count] |= 0x80;
        ++count;
    } while (length > 0);
    return count;
}

static size_t put_u16(uint8_t* out, size_t value) {
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)(value & 0xff);
    return 2;
}

static size_t put_text(uint8_t* out, const char* text) {
    const size_t bytes = strlen(text);

    put_u16(out, bytes);
    memcpy(out + 2, text, bytes);
    return bytes + 2;
}

/* ---- packets ---------------------------------------------------------------------------------- */

static int32_t send_packet(good* self, uint8_t first, const uint8_t* body, size_t bytes) {
    uint8_t header[5] = {first};
    const size_t header_bytes = 1 + put_length(header + 1, bytes);
    const int32_t status = write_all(self, header, header_bytes);

    return status == MQCORE_OK ? write_all(self, body, bytes) : status;
}

static int32_t publish(good* self, const mqcore_message* message) {
    const char* topic = self->run->topics[message->topic];
    const size_t topic_bytes = strlen(topic);
    const size_t id_bytes = message->qos > 0 ? 2 : 0;
    uint8_t header[5] = {(uint8_t)(kPublish << 4 | message->qos << 1 | message->retain)};
    uint8_t* head = malloc(topic_bytes + 4);
    size_t head_bytes = put_text(head, topic);
    int32_t status;

    if (message->qos > 0)
        head_bytes += put_u16(head + head_bytes, (size_t)message->slot + 1);
    status =
        write_all(self, header,
                  1 + put_length(header + 1, 2 + topic_bytes + id_bytes + message->payload_bytes));
    if (status == MQCORE_OK)
        status = write_all(self, head, head_bytes);
    if (status == MQCORE_OK)
        status = write_all(self, message->payload, message->payload_bytes);
    free(head);
    return status;
}

static int32_t take_publish(good* self, uint8_t flags, const uint8_t* body, size_t bytes) {
    const size_t topic_bytes = (size_t)body[0] << 8 | body[1];
    const size_t qos = flags >> 1 & 3;
    const size_t head_bytes = 2 + topic_bytes + (qos > 0 ? 2 : 0);

    if (self->sink)
        self->sink->received(self->sink, body + head_bytes, (uint32_t)(bytes - head_bytes),
                             MQCORE_NONE, 0);
    return qos > 0 ? send_packet(self, kPuback << 4, body + 2 + topic_bytes, 2) : MQCORE_OK;
}

/* What connect() waits for is put into *answer; the rest goes to the sink. */
static int32_t take_packet(good* self, uint8_t first, const uint8_t* body, size_t bytes,
                           int* answer) {
    switch (first >> 4) {
    case kConnack:
        *answer = body[1];
        return MQCORE_OK;
    case kSuback:
        *answer = 0;
        for (size_t i = 2; i < bytes; ++i)
            if (body[i] >= 0x80)
                return fail(self, MQCORE_NETWORK, "a subscription was refused");
            else if (body[i] < self->run->filter_qos)
                return fail(self, MQCORE_UNSUPPORTED, "a lower QoS was granted");
        return MQCORE_OK;
    case kPuback:
        if (self->sink)
            self->sink->done(self->sink, ((uint32_t)body[0] << 8 | body[1]) - 1u, MQCORE_OK);
        return MQCORE_OK;
    case kPublish:
        return take_publish(self, first & 0x0f, body, bytes);
    default:
        return MQCORE_OK;
    }
}

/* Hands on every whole packet in the buffer. */
static int32_t take_packets(good* self, int* answer) {
    size_t at = 0;
    int32_t status = MQCORE_OK;

    while (status == MQCORE_OK) {
        size_t length = 0;
        size_t head = 1;
        int is_whole = 0;
        for (unsigned shift = 0; at + head < self->filled && shift < 28; shift += 7) {
            const uint8_t byte = self->buffer[at + head++];
            length |= (size_t)(byte & 0x7f) << shift;
            if (!(byte & 0x80)) {
                is_whole = 1;
                break;
            }
        }
        if (!is_whole || self->filled - at < head + length)
            break;
        status = take_packet(self, self->buffer[at], self->buffer + at + head, length, answer);
        at += head + length;
    }
    memmove(self->buffer, self->buffer + at, self->filled - at);
    self->filled -= at;
    return status;
}

/* Reads what is there within the time. */
static int32_t serve(good* self, int timeout_ms, int* answer) {
    ssize_t count;

    if (!wait_for(self, POLLIN, timeout_ms))
        return MQCORE_OK;
    if (self->capacity - self->filled < 65536) {
        self->capacity = 2 * self->capacity + 65536;
        self->buffer = realloc(self->buffer, self->capacity);
    }
    count = recv(self->socket, self->buffer + self->filled, self->capacity - self->filled, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN))
        return fail(self, MQCORE_NETWORK, "the connection was lost");
    if (count > 0)
        self->filled += (size_t)count;
    return take_packets(self, answer);
}

/* ---- life ------------------------------------------------------------------------------------- */

int32_t good_create(const mqcore_host* host, void** out) {
    good* self = calloc(1, sizeof *self);

    self->host = host;
    self->socket = -1;
    *out = self;
    return MQCORE_OK;
}

static int32_t await(good* self, const char* what) {
    const uint64_t deadline = now_ns() + (uint64_t)kConnectMs * 1000000u;
    int answer = -1;
    int32_t status = MQCORE_OK;

    while (status == MQCORE_OK && answer < 0 && now_ns() < deadline)
        status = serve(self, 100, &answer);
    if (status == MQCORE_OK && answer != 0)
        return fail(self, MQCORE_NETWORK, what);
    return status;
}

static int32_t open_socket(good* self) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)self->run->port)};

    inet_pton(AF_INET, self->run->host, &address.sin_addr);
    self->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(self->socket, (const struct sockaddr*)&address, sizeof address) != 0)
        return fail(self, MQCORE_NETWORK, strerror(errno));
    setsockopt(self->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    fcntl(self->socket, F_SETFL, O_NONBLOCK);
    self->reached = kOpened;
    return MQCORE_OK;
}

static int32_t subscribe(good* self) {
    size_t bytes = 2;
    uint8_t* body;
    int32_t status;

    for (uint32_t i = 0; i < self->run->filter_count; ++i)
        bytes += strlen(self->run->filters[i]) + 3;
    body = malloc(bytes);
    bytes = put_u16(body, 1);
    for (uint32_t i = 0; i < self->run->filter_count; ++i) {
        bytes += put_text(body + bytes, self->run->filters[i]);
        body[bytes++] = (uint8_t)self->run->filter_qos;
    }
    status = send_packet(self, 0x82, body, bytes);
    free(body);
    return status == MQCORE_OK ? await(self, "no SUBACK") : status;
}

int32_t good_connect(void* opaque, const mqcore_run* run) {
    static const uint8_t kProtocol[] = {0, 4, 'M', 'Q', 'T', 'T', 4, 2 /* clean session */};
    good* self = opaque;
    uint8_t body[300];
    size_t bytes = sizeof kProtocol;
    int32_t status;

    self->run = run;
    self->filled = 0;
    if (run->option_count > 0)
        return fail(self, MQCORE_CONFIG, "this driver has no options");
    if (run->protocol != MQCORE_V311 || run->ca_file)
        return fail(self, MQCORE_UNSUPPORTED, "this driver speaks MQTT 3.1.1 over TCP");
    if (run->connection_count > 1 || run->filter_qos > 1)
        return fail(self, MQCORE_UNSUPPORTED, "this driver has one connection and no QoS 2");
    status = open_socket(self);
    if (status != MQCORE_OK)
        return status;
    memcpy(body, kProtocol, bytes);
    bytes += put_u16(body + bytes, run->keepalive_s);
    bytes += put_text(body + bytes, run->client_id);
    status = send_packet(self, 0x10, body, bytes);
    if (status == MQCORE_OK)
        status = await(self, "no CONNACK, or a refusal");
    if (status == MQCORE_OK)
        self->reached = kAccepted;
    return status == MQCORE_OK && run->filter_count > 0 ? subscribe(self) : status;
}

int32_t good_drive(void* opaque, mqcore_source* source, mqcore_sink* sink) {
    good* self = opaque;
    const mqcore_message* message;
    int answer = 0;
    int32_t status = MQCORE_OK;

    self->sink = sink;
    while (status == MQCORE_OK) {
        int timeout_ms = 0;
        switch (source->next(source, &message)) {
        case MQCORE_SEND:
            status = publish(self, message);
            if (message->qos == 0 || status != MQCORE_OK)
                sink->done(sink, message->slot, status);
            break;
        case MQCORE_STOP:
            return MQCORE_OK;
        default: {
            const uint64_t now = now_ns();
            if (source->wake_ns > now)
                timeout_ms = (int)((source->wake_ns - now + 999999u) / 1000000u);
        }
        }
        if (status == MQCORE_OK)
            status = serve(self, timeout_ms, &answer);
    }
    return status;
}

int32_t good_disconnect(void* opaque) {
    good* self = opaque;

    self->sink = NULL;
    if (self->socket >= 0) {
        send_packet(self, 0xe0, NULL, 0);
        close(self->socket);
        self->socket = -1;
    }
    return MQCORE_OK;
}

void good_destroy(void* opaque) {
    good* self = opaque;

    good_disconnect(self);
    free(self->buffer);
    free(self);
}
