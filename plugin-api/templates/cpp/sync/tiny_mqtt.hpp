#pragma once
// A tiny MQTT 3.1.1 client: one connection over a plain socket, QoS 0 and 1, no thread of its own. It stands
// where YOUR LIBRARY will be, and goes when that is there; driver.cpp shows what has to change.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tiny_mqtt {

// The connection cannot be made, or is lost.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Every call may throw Error; callbacks come from inside the calls. Times: CLOCK_MONOTONIC.
class Client {
  public:
    Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;
    ~Client();

    std::function<void(std::uint16_t id)> on_acknowledged; // PUBACK
    std::function<void(const std::uint8_t* payload, std::size_t bytes)> on_message;

    // Until CONNACK.
    void connect(const char* host, std::uint16_t port, const std::string& client_id,
                 std::uint16_t keepalive_s);
    // Until SUBACK. The granted QoS, or 0x80: refused.
    std::uint8_t subscribe(std::string_view filter, std::uint8_t qos);
    // Until the kernel has taken it. id: 1 to 65535, not in use, for QoS 1.
    void publish(std::string_view topic, const std::uint8_t* payload, std::size_t bytes,
                 std::uint8_t qos, bool retain, std::uint16_t id);
    // What arrives until then; returns early after it.
    void serve(std::uint64_t until_ns);
    void disconnect() noexcept;

  private:
    void open_socket(const char* host, std::uint16_t port);
    void begin_packet(std::uint8_t first, std::size_t remaining);
    void put_u16(std::size_t value);
    void put_text(std::string_view text);
    void send_packet(const std::uint8_t* payload = nullptr, std::size_t bytes = 0);
    void keep_alive(std::uint64_t& until_ns);
    std::uint8_t await(const char* packet);
    void take_packets();
    void take_packet(std::uint8_t first, const std::uint8_t* body, std::size_t bytes);
    void take_publish(std::uint8_t flags, const std::uint8_t* body, std::size_t bytes);

    int socket_ = -1;
    int answer_ = -1; // of CONNACK or SUBACK; -1: not there yet
    std::uint64_t keepalive_ns_ = 0;
    std::uint64_t last_sent_ns_ = 0;
    std::vector<std::uint8_t> head_;   // of the packet that is being sent: all but a payload
    std::vector<std::uint8_t> buffer_; // what has arrived, and room for more
    std::size_t filled_ = 0;
};

} // namespace tiny_mqtt
