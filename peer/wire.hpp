#pragma once
// Reading and writing the data types of MQTT (3.1.1 section 1.5, 5 section 1.5). Inside the codec
// only; a cursor that has met a fault answers zeros and empty views from then on.

#include "peer/byte_queue.hpp"
#include "peer/packet.hpp"
#include "support/text.hpp"

namespace mqcore::peer {

constexpr std::size_t variable_bytes(std::uint32_t value) {
    return value < 128 ? 1 : value < 16'384 ? 2 : value < 2'097'152 ? 3 : 4;
}

inline std::uint8_t* put_byte(std::uint8_t* at, std::uint8_t value) {
    *at = value;
    return at + 1;
}
inline std::uint8_t* put_two(std::uint8_t* at, std::uint16_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 8);
    at[1] = static_cast<std::uint8_t>(value);
    return at + 2;
}
inline std::uint8_t* put_variable(std::uint8_t* at, std::uint32_t value) {
    while (value > 127) {
        *at++ = static_cast<std::uint8_t>(value | 0x80);
        value >>= 7;
    }
    *at = static_cast<std::uint8_t>(value);
    return at + 1;
}
inline std::uint8_t* put_bytes(std::uint8_t* at, Bytes bytes) {
    if (!bytes.empty())
        std::memcpy(at, bytes.data(), bytes.size());
    return at + bytes.size();
}
// Two bytes of length, then the bytes. Longer than 65,535 is the caller's mistake.
inline std::uint8_t* put_text(std::uint8_t* at, std::string_view text) {
    return put_bytes(put_two(at, static_cast<std::uint16_t>(text.size())), bytes_of(text));
}

class Cursor {
  public:
    explicit Cursor(Bytes bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

    Fault fault() const { return fault_; }
    bool is_ok() const { return fault_ == Fault::none; }
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
    void fail(Fault fault) {
        if (fault_ == Fault::none)
            fault_ = fault;
        at_ = end_;
    }

    std::uint8_t byte() {
        const std::uint8_t* bytes = take(1);
        return bytes ? bytes[0] : std::uint8_t{0};
    }
    std::uint16_t two() {
        const std::uint8_t* bytes = take(2);
        return bytes ? static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]) : std::uint16_t{0};
    }
    std::uint32_t four() {
        const std::uint32_t high = two();
        return high << 16 | two();
    }
    // 5 section 1.5.5: at most four bytes, and the fewest that hold the value.
    std::uint32_t variable() {
        std::uint32_t value = 0;
        for (unsigned shift = 0; shift < 28; shift += 7) {
            const std::uint8_t bits = byte();
            value |= static_cast<std::uint32_t>(bits & 0x7F) << shift;
            if (bits & 0x80)
                continue;
            if (bits == 0 && shift > 0)
                fail(Fault::length_not_minimal);
            return is_ok() ? value : 0;
        }
        fail(Fault::length_of_five_bytes);
        return 0;
    }
    Bytes take_bytes(std::size_t count) {
        const std::uint8_t* bytes = take(count);
        return bytes ? Bytes{bytes, count} : Bytes{};
    }
    Bytes binary() { return take_bytes(two()); }
    // 3.1.1 section 1.5.3, 5 section 1.5.4: well-formed UTF-8 without U+0000.
    std::string_view text() {
        const std::string_view value = text_of(binary());
        bool is_plain = true;
        for (const char letter : value) {
            is_plain &= static_cast<unsigned char>(letter) < 0x80;
            if (letter == '\0')
                fail(Fault::null_in_text);
        }
        if (!is_plain && !support::is_utf8(value))
            fail(Fault::bad_utf8);
        return is_ok() ? value : std::string_view{};
    }

    // The fault of a packet that must end here.
    Fault ended() {
        if (left())
            fail(Fault::trailing_bytes);
        return fault_;
    }

  private:
    const std::uint8_t* take(std::size_t count) {
        if (left() < count) {
            fail(Fault::truncated);
            return nullptr;
        }
        const std::uint8_t* bytes = at_;
        at_ += count;
        return bytes;
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
    Fault fault_ = Fault::none;
};

} // namespace mqcore::peer
