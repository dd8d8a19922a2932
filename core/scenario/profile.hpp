#pragma once
// How long and how often a point is measured. A point says what is asked, a profile how thoroughly.

#include "support/clock.hpp"
#include "support/result.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace mqcore::scenario {

struct Profile {
    std::string_view name = {};
    support::Nanoseconds warmup_ns = 0;
    support::Nanoseconds window_ns = 0;
    support::Nanoseconds drain_ns = 0;
    std::uint32_t runs = 1;     // of every client on every point
    bool is_comparable = false; // false: its results are never published or compared
    std::string_view help = {};
};

std::span<const Profile> profiles();
// An unknown name is an Error with the nearest one.
support::Result<Profile> profile_named(std::string_view name);

} // namespace mqcore::scenario
