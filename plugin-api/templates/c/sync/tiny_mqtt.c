#define _GNU_SOURCE /* ppoll */

#include "tiny_mqtt.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { kConnack = 2, kPublish = 3, kPuback = 4, kSuback = 9, kPatienceS = 10, kMostText = 65535 };

static const uint64_t kSecondNs = 1000000000;

struct tiny_mqtt {
    tiny_mqtt_callbacks callbacks;
    int socket; /* -1: none */
    int answer; /* of CONNACK or SUBACK; -1: not there yet */
    uint64_t keepalive_ns;
    uint64_t last_sent_ns;
    uint8_t* buffer; /* bytes that have arrived and are no whole packet yet */
    size_t capacity;
    size_t filled;
    uint8_t head[kMostText + 16]; /* of the packet that is being sent: all but a payload */
    size_t head_bytes;
    char error[200];
};

static uint64_t now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * kSecondNs + (uint64_t)now.tv_nsec;
}

static int fail(tiny_mqtt* client, const char* what, const char* why) {
    snprintf(client->error, sizeof client->error, "%s%s%s", what, why ? ": " : "", why ? why : "");
    return -1;
}

/* ---- sending ---------------------------------------------------------------------------------- */

static void put_byte(tiny_mqtt* client, size_t byte) {
    client->head[client->head_bytes++] = (uint8_t)byte;
}

static void put_u16(tiny_mqtt* client, size_t value) {
    put_byte(client, value >> 8);
    put_byte(client, value & 0xff);
}

static void put_text(tiny_mqtt* client, const char* text, size_t bytes) {
    put_u16(client, bytes);
    memcpy(client->head + client->head_bytes, text, bytes);
    client->head_bytes += bytes;
}

static void begin_packet(tiny_mqtt* client, uint8_t first, size_t remaining) {
    client->head_bytes = 0;
    put_byte(client, first);
    for (; remaining > 127; remaining /= 128)
        put_byte(client, remaining % 128 | 0x80);
    put_byte(client, remaining);
}

/* The head and what comes behind it, in as few segments as possible. */
static int send_packet(tiny_mqtt* client, const uint8_t* payload, size_t bytes) {
    struct iovec parts[2] = {{client->head, client->head_bytes}, {(void*)payload, bytes}};
    struct msghdr packet = {.msg_iov = parts, .msg_iovlen = 2};

    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(client->socket, &packet, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return fail(client, "the connection was lost while writing", strerror(errno));
        for (int i = 0; i < 2; ++i) {
            const size_t of_it = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;
            parts[i].iov_base = (uint8_t*)parts[i].iov_base + of_it;
            parts[i].iov_len -= of_it;
            sent -= (ssize_t)of_it;
        }
    }
    client->last_sent_ns = now_ns();
    return 0;
}

/* ---- receiving -------------------------------------------------------------------------------- */

static int take_publish(tiny_mqtt* client, uint8_t flags, const uint8_t* body, size_t bytes) {
    const size_t id_bytes = (flags & 0x06) != 0 ? 2 : 0;
    const size_t topic_bytes = bytes < 2 ? bytes : (size_t)body[0] << 8 | body[1];

    if (bytes < 2 + topic_bytes + id_bytes)
        return fail(client, "the server sent a malformed PUBLISH", NULL);
    client->callbacks.message(client->callbacks.user, body + 2 + topic_bytes + id_bytes,
                              bytes - 2 - topic_bytes - id_bytes);
    if (id_bytes == 0)
        return 0;
    begin_packet(client, kPuback << 4, 2);
    return send_packet(client, body + 2 + topic_bytes, 2);
}

static int take_packet(tiny_mqtt* client, uint8_t first, const uint8_t* body, size_t bytes) {
    const unsigned type = first >> 4;

    if (type == kPublish)
        return take_publish(client, first & 0x0f, body, bytes);
    if (bytes < 2 + (type == kSuback) && (type == kConnack || type == kPuback || type == kSuback))
        return fail(client, "the server sent a packet that is too short", NULL);
    if (type == kConnack)
        client->answer = body[1];
    else if (type == kSuback)
        client->answer = body[2];
    else if (type == kPuback)
        client->callbacks.acknowledged(client->callbacks.user, (uint16_t)(body[0] << 8 | body[1]));
    return 0;
}

/* Every whole packet in the buffer. */
static int take_packets(tiny_mqtt* client) {
    size_t at = 0;
    int status = 0;

    while (status == 0) {
        size_t head = 1;
        size_t length = 0;
        int is_whole = 0;
        for (unsigned shift = 0; !is_whole && at + head < client->filled; shift += 7) {
            const uint8_t byte = client->buffer[at + head++];
            if (shift > 21)
                return fail(client, "the server sent a malformed length", NULL);
            length |= (size_t)(byte & 0x7f) << shift;
            is_whole = (byte & 0x80) == 0;
        }
        if (!is_whole || client->filled - at < head + length)
            break;
        status = take_packet(client, client->buffer[at], client->buffer + at + head, length);
        at += head + length;
    }
    memmove(client->buffer, client->buffer + at, client->filled - at);
    client->filled -= at;
    return status;
}

static int keep_alive(tiny_mqtt* client, uint64_t* until_ns) {
    const uint64_t due_ns = client->last_sent_ns + client->keepalive_ns / 2;

    if (client->keepalive_ns == 0)
        return 0;
    if (now_ns() >= due_ns) {
        begin_packet(client, 0xc0, 0); /* PINGREQ */
        return send_packet(client, NULL, 0);
    }
    if (due_ns < *until_ns)
        *until_ns = due_ns;
    return 0;
}

int tiny_mqtt_serve(tiny_mqtt* client, uint64_t until_ns) {
    struct pollfd it = {.fd = client->socket, .events = POLLIN};
    ssize_t count;

    if (keep_alive(client, &until_ns) != 0)
        return -1;
    const uint64_t now = now_ns();
    const uint64_t left = until_ns > now ? until_ns - now : 0;
    const struct timespec timeout = {(time_t)(left / kSecondNs), (long)(left % kSecondNs)};
    if (ppoll(&it, 1, &timeout, NULL) <= 0)
        return 0;
    if (client->capacity - client->filled < 65536) {
        uint8_t* larger = realloc(client->buffer, 2 * client->capacity + 65536);
        if (!larger)
            return fail(client, "out of memory", NULL);
        client->buffer = larger;
        client->capacity = 2 * client->capacity + 65536;
    }
    count = recv(client->socket, client->buffer + client->filled, client->capacity - client->filled,
                 MSG_DONTWAIT);
    if (count == 0)
        return fail(client, "the server closed the connection", NULL);
    if (count < 0)
        return errno == EAGAIN || errno == EINTR
                   ? 0
                   : fail(client, "the connection was lost", strerror(errno));
    client->filled += (size_t)count;
    return take_packets(client);
}

/* Until the answer is there. */
static int await(tiny_mqtt* client, const char* packet) {
    const uint64_t deadline = now_ns() + kPatienceS * kSecondNs;

    while (client->answer < 0) {
        if (now_ns() >= deadline)
            return fail(client, "no answer within 10 s", packet);
        if (tiny_mqtt_serve(client, deadline) != 0)
            return -1;
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------- */

tiny_mqtt* tiny_mqtt_new(tiny_mqtt_callbacks callbacks) {
    tiny_mqtt* client = calloc(1, sizeof *client);

    if (client) {
        client->callbacks = callbacks;
        client->socket = -1;
    }
    return client;
}

void tiny_mqtt_free(tiny_mqtt* client) {
    if (!client)
        return;
    if (client->socket >= 0)
        close(client->socket);
    free(client->buffer);
    free(client);
}

const char* tiny_mqtt_error(const tiny_mqtt* client) { return client->error; }

static int open_socket(tiny_mqtt* client, const char* host, uint16_t port) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = kPatienceS};
    const int yes = 1;
    struct addrinfo* addresses = NULL;
    char service[8];
    int failed;

    snprintf(service, sizeof service, "%u", port);
    failed = getaddrinfo(host, service, &hints, &addresses);
    if (failed != 0)
        return fail(client, host, gai_strerror(failed));
    client->socket = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* It limits connect() and every send(). */
    setsockopt(client->socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    failed = connect(client->socket, addresses->ai_addr, addresses->ai_addrlen);
    freeaddrinfo(addresses);
    return failed != 0 ? fail(client, "cannot connect", strerror(errno)) : 0;
}

int tiny_mqtt_connect(tiny_mqtt* client, const char* host, uint16_t port, const char* client_id,
                      uint16_t keepalive_s) {
    const size_t id_bytes = strlen(client_id);

    if (open_socket(client, host, port) != 0)
        return -1;
    begin_packet(client, 0x10, 12 + id_bytes);
    put_text(client, "MQTT", 4);
    put_byte(client, 4);    /* 3.1.1 */
    put_byte(client, 0x02); /* clean session */
    put_u16(client, keepalive_s);
    put_text(client, client_id, id_bytes);
    client->keepalive_ns = keepalive_s * kSecondNs;
    client->answer = -1;
    if (send_packet(client, NULL, 0) != 0 || await(client, "CONNACK") != 0)
        return -1;
    if (client->answer != 0) {
        snprintf(client->error, sizeof client->error, "the server refused the connection (code %d)",
                 client->answer);
        return -1;
    }
    return 0;
}

int tiny_mqtt_subscribe(tiny_mqtt* client, const char* filter, uint8_t qos, uint8_t* granted) {
    const size_t filter_bytes = strlen(filter);

    begin_packet(client, 0x82, 5 + filter_bytes);
    put_u16(client, 1);
    put_text(client, filter, filter_bytes);
    put_byte(client, qos);
    client->answer = -1;
    if (send_packet(client, NULL, 0) != 0 || await(client, "SUBACK") != 0)
        return -1;
    *granted = (uint8_t)client->answer;
    return 0;
}

int tiny_mqtt_publish(tiny_mqtt* client, const char* topic, const uint8_t* payload, size_t bytes,
                      uint8_t qos, int retain, uint16_t id) {
    const size_t topic_bytes = strlen(topic);
    const uint8_t first = (uint8_t)(kPublish << 4 | qos << 1 | (retain ? 1 : 0));

    begin_packet(client, first, 2 + topic_bytes + (qos > 0 ? 2u : 0u) + bytes);
    put_text(client, topic, topic_bytes);
    if (qos > 0)
        put_u16(client, id);
    return send_packet(client, payload, bytes);
}

void tiny_mqtt_disconnect(tiny_mqtt* client) {
    if (client->socket < 0)
        return;
    begin_packet(client, 0xe0, 0);
    send_packet(client, NULL, 0); /* a connection that is lost already is left as well */
    close(client->socket);
    client->socket = -1;
}
