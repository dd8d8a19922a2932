#pragma once
// What one message carries, little-endian:
//
//   bytes 0..7    CLOCK_MONOTONIC stamp of the actual publish, nanoseconds
//   bytes 8..15   sequence number of its direction, from 0
//   bytes 16..19  tag of the run, so that a message of another run is told apart
//   bytes 20..    fill pattern, verified by the receiver
//
// A payload that is too short for a field goes without it: below 8 bytes there is no latency, below
// 16 no sequence, below 20 no tag; counts stay exact. The fill does not depend on the sequence
// number, so a slot's buffer is filled once and only 16 bytes change from message to message.

#include "support/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mqcore::measure {

constexpr std::size_t kStampBytes = 8;
constexpr std::size_t kSequenceEnd = 16;
constexpr std::size_t kHeaderBytes = 20;

constexpr bool carries_stamp(std::size_t bytes) { return bytes >= kStampBytes; }
constexpr bool carries_sequence(std::size_t bytes) { return bytes >= kSequenceEnd; }
constexpr bool carries_tag(std::size_t bytes) { return bytes >= kHeaderBytes; }

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the payload header is little-endian");

// Tag and fill of a whole buffer; the stamp and the sequence number stay 0.
void prepare_payload(std::uint8_t* payload, std::size_t bytes, std::uint32_t tag);

inline void stamp_payload(std::uint8_t* payload, std::size_t bytes, support::Nanoseconds stamp,
                          std::uint64_t sequence) {
    if (carries_sequence(bytes)) {
        std::memcpy(payload, &stamp, sizeof stamp);
        std::memcpy(payload + 8, &sequence, sizeof sequence);
    } else if (carries_stamp(bytes)) {
        std::memcpy(payload, &stamp, sizeof stamp);
    }
}

inline support::Nanoseconds read_stamp(const std::uint8_t* payload) {
    support::Nanoseconds stamp;
    std::memcpy(&stamp, payload, sizeof stamp);
    return stamp;
}
inline std::uint64_t read_sequence(const std::uint8_t* payload) {
    std::uint64_t sequence;
    std::memcpy(&sequence, payload + 8, sizeof sequence);
    return sequence;
}
inline std::uint32_t read_tag(const std::uint8_t* payload) {
    std::uint32_t tag;
    std::memcpy(&tag, payload + 16, sizeof tag);
    return tag;
}

// Holds the fill of the largest payload of a run and compares arrivals with it.
class FillCheck {
  public:
    explicit FillCheck(std::size_t largest_bytes);
    bool intact(const std::uint8_t* payload, std::size_t bytes) const {
        return bytes <= kHeaderBytes ||
               (bytes <= expected_.size() &&
                std::memcmp(payload + kHeaderBytes, expected_.data() + kHeaderBytes,
                            bytes - kHeaderBytes) == 0);
    }

  private:
    std::vector<std::uint8_t> expected_;
};

} // namespace mqcore::measure
