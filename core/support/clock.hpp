#pragma once
// The one clock of a run: CLOCK_MONOTONIC in nanoseconds, the same for every process of the machine.
// A read goes through the vDSO and costs 20 to 50 ns; the measured path reads it once a message.

#include <cstdint>
#include <ctime>

namespace mqcore::support {

using Nanoseconds = std::uint64_t; // an instant of CLOCK_MONOTONIC or a length of time

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr Nanoseconds kMillisecond = 1'000'000;

inline Nanoseconds now_ns() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
}

} // namespace mqcore::support
