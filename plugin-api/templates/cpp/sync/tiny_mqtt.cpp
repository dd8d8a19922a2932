#include "tiny_mqtt.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace tiny_mqtt {
namespace {

enum Type { kConnack = 2, kPublish = 3, kPuback = 4, kSuback = 9 };

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kPatienceS = 10;

std::uint64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecondNs +
           static_cast<std::uint64_t>(now.tv_nsec);
}

[[noreturn]] void fail(const std::string& what, int cause) {
    throw Error(what + ": " + std::strerror(cause));
}

} // namespace

// ---- sending ----

void Client::begin_packet(std::uint8_t first, std::size_t remaining) {
    head_ = {first};
    for (; remaining > 127; remaining /= 128)
        head_.push_back(static_cast<std::uint8_t>(remaining % 128 | 0x80));
    head_.push_back(static_cast<std::uint8_t>(remaining));
}

void Client::put_u16(std::size_t value) {
    head_.push_back(static_cast<std::uint8_t>(value >> 8));
    head_.push_back(static_cast<std::uint8_t>(value & 0xff));
}

void Client::put_text(std::string_view text) {
    put_u16(text.size());
    head_.insert(head_.end(), text.begin(), text.end());
}

// The head and what comes behind it, in as few segments as possible.
void Client::send_packet(const std::uint8_t* payload, std::size_t bytes) {
    iovec parts[2] = {{head_.data(), head_.size()}, {const_cast<std::uint8_t*>(payload), bytes}};
    msghdr packet{};
    packet.msg_iov = parts;
    packet.msg_iovlen = 2;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        const ssize_t sent = sendmsg(socket_, &packet, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            fail("the connection was lost while writing", errno);
        std::size_t left = static_cast<std::size_t>(sent);
        for (iovec& part : parts) {
            const std::size_t of_it = std::min(left, part.iov_len);
            part.iov_base = static_cast<std::uint8_t*>(part.iov_base) + of_it;
            part.iov_len -= of_it;
            left -= of_it;
        }
    }
    last_sent_ns_ = now_ns();
}

// ---- receiving ----

void Client::take_publish(std::uint8_t flags, const std::uint8_t* body, std::size_t bytes) {
    const std::size_t id_bytes = (flags & 0x06) != 0 ? 2 : 0;
    const std::size_t topic_bytes =
        bytes < 2 ? bytes : static_cast<std::size_t>(body[0]) << 8 | body[1];
    if (bytes < 2 + topic_bytes + id_bytes)
        throw Error("the server sent a malformed PUBLISH");
    const std::uint8_t* const id = body + 2 + topic_bytes;
    on_message(id + id_bytes, bytes - 2 - topic_bytes - id_bytes);
    if (id_bytes > 0) {
        begin_packet(kPuback << 4, 2);
        send_packet(id, 2);
    }
}

void Client::take_packet(std::uint8_t first, const std::uint8_t* body, std::size_t bytes) {
    const auto byte = [&](std::size_t index) {
        if (index >= bytes)
            throw Error("the server sent a packet that is too short");
        return body[index];
    };
    switch (first >> 4) {
    case kConnack:
        answer_ = byte(1);
        break;
    case kSuback:
        answer_ = byte(2);
        break;
    case kPuback:
        on_acknowledged(static_cast<std::uint16_t>(byte(0) << 8 | byte(1)));
        break;
    case kPublish:
        take_publish(first & 0x0f, body, bytes);
        break;
    default:
        break; // PINGRESP
    }
}

// Every whole packet in the buffer.
void Client::take_packets() {
    std::size_t at = 0;
    for (;;) {
        std::size_t head = 1;
        std::size_t length = 0;
        bool is_whole = false;
        for (unsigned shift = 0; !is_whole && at + head < filled_; shift += 7) {
            const std::uint8_t byte = buffer_[at + head++];
            if (shift > 21)
                throw Error("the server sent a malformed length");
            length |= static_cast<std::size_t>(byte & 0x7f) << shift;
            is_whole = (byte & 0x80) == 0;
        }
        if (!is_whole || filled_ - at < head + length)
            break;
        take_packet(buffer_[at], buffer_.data() + at + head, length);
        at += head + length;
    }
    std::memmove(buffer_.data(), buffer_.data() + at, filled_ - at);
    filled_ -= at;
}

void Client::keep_alive(std::uint64_t& until_ns) {
    if (keepalive_ns_ == 0)
        return;
    const std::uint64_t due_ns = last_sent_ns_ + keepalive_ns_ / 2;
    if (now_ns() >= due_ns) {
        begin_packet(0xc0, 0); // PINGREQ
        send_packet();
    } else {
        until_ns = std::min(until_ns, due_ns);
    }
}

void Client::serve(std::uint64_t until_ns) {
    keep_alive(until_ns);
    const std::uint64_t now = now_ns();
    const std::uint64_t left = until_ns > now ? until_ns - now : 0;
    const timespec timeout{static_cast<time_t>(left / kSecondNs),
                           static_cast<long>(left % kSecondNs)};
    pollfd it{socket_, POLLIN, 0};
    if (ppoll(&it, 1, &timeout, nullptr) <= 0)
        return;
    if (buffer_.size() - filled_ < 65536)
        buffer_.resize(2 * buffer_.size() + 65536);
    const ssize_t count =
        recv(socket_, buffer_.data() + filled_, buffer_.size() - filled_, MSG_DONTWAIT);
    if (count == 0)
        throw Error("the server closed the connection");
    if (count < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return;
        fail("the connection was lost", errno);
    }
    filled_ += static_cast<std::size_t>(count);
    take_packets();
}

std::uint8_t Client::await(const char* packet) {
    const std::uint64_t deadline = now_ns() + kPatienceS * kSecondNs;
    while (answer_ < 0) {
        if (now_ns() >= deadline)
            throw Error(std::string("no ") + packet + " within 10 s");
        serve(deadline);
    }
    return static_cast<std::uint8_t>(answer_);
}

// ---- life ----

Client::~Client() {
    if (socket_ >= 0)
        close(socket_);
}

void Client::open_socket(const char* host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* addresses = nullptr;
    if (const int failed = getaddrinfo(host, std::to_string(port).c_str(), &hints, &addresses))
        throw Error(std::string(host) + ": " + gai_strerror(failed));
    socket_ = socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // It limits connect() and every send().
    timeval patience{};
    patience.tv_sec = kPatienceS;
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const int yes = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int failed = ::connect(socket_, addresses->ai_addr, addresses->ai_addrlen);
    freeaddrinfo(addresses);
    if (failed != 0)
        fail("cannot connect", errno);
}

void Client::connect(const char* host, std::uint16_t port, const std::string& client_id,
                     std::uint16_t keepalive_s) {
    open_socket(host, port);
    begin_packet(0x10, 12 + client_id.size());
    put_text("MQTT");
    head_.push_back(4);    // 3.1.1
    head_.push_back(0x02); // clean session
    put_u16(keepalive_s);
    put_text(client_id);
    keepalive_ns_ = keepalive_s * kSecondNs;
    answer_ = -1;
    send_packet();
    if (const int code = await("CONNACK"))
        throw Error("the server refused the connection (code " + std::to_string(code) + ")");
}

std::uint8_t Client::subscribe(std::string_view filter, std::uint8_t qos) {
    begin_packet(0x82, 5 + filter.size());
    put_u16(1);
    put_text(filter);
    head_.push_back(qos);
    answer_ = -1;
    send_packet();
    return await("SUBACK");
}

void Client::publish(std::string_view topic, const std::uint8_t* payload, std::size_t bytes,
                     std::uint8_t qos, bool retain, std::uint16_t id) {
    const auto first = static_cast<std::uint8_t>(kPublish << 4 | qos << 1 | (retain ? 1 : 0));
    begin_packet(first, 2 + topic.size() + (qos > 0 ? 2 : 0) + bytes);
    put_text(topic);
    if (qos > 0)
        put_u16(id);
    send_packet(payload, bytes);
}

void Client::disconnect() noexcept {
    if (socket_ < 0)
        return;
    try {
        begin_packet(0xe0, 0);
        send_packet();
    } catch (const std::exception&) {
        // A connection that is lost already is left as well.
    }
    close(socket_);
    socket_ = -1;
}

} // namespace tiny_mqtt
