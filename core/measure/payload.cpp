#include "measure/payload.hpp"

namespace mqcore::measure {
namespace {

// A position-dependent byte with a period (251, a prime) that no power-of-two buffer size shares, so
// that a shifted, repeated or cut block does not look intact.
std::uint8_t fill_byte(std::size_t position) {
    return static_cast<std::uint8_t>(position % 251 ^ 0x5A);
}

} // namespace

void prepare_payload(std::uint8_t* payload, std::size_t bytes, std::uint32_t tag) {
    for (std::size_t i = 0; i < bytes; ++i)
        payload[i] = i < kHeaderBytes ? 0 : fill_byte(i);
    if (carries_tag(bytes))
        std::memcpy(payload + 16, &tag, sizeof tag);
}

FillCheck::FillCheck(std::size_t largest_bytes) : expected_(largest_bytes) {
    prepare_payload(expected_.data(), expected_.size(), 0);
}

} // namespace mqcore::measure
