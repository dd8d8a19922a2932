#include "scenario/profile.hpp"

#include "support/text.hpp"

#include <fmt/format.h>
#include <string>
#include <vector>

namespace mqcore::scenario {
namespace {

constexpr support::Nanoseconds kHalfSecond = support::kSecond / 2;

constexpr Profile kProfiles[] = {
    {.name = "smoke",
     .warmup_ns = kHalfSecond,
     .window_ns = 2 * support::kSecond,
     .drain_ns = support::kSecond,
     .runs = 1,
     .is_comparable = false,
     .help =
         "Does everything work? One short run of each pair; the numbers are not for comparing."},
    {.name = "standard",
     .warmup_ns = 2 * support::kSecond,
     .window_ns = 8 * support::kSecond,
     .drain_ns = 2 * support::kSecond,
     .runs = 3,
     .is_comparable = true,
     .help = "The profile of published results: three runs of each pair."},
};

} // namespace

std::span<const Profile> profiles() { return kProfiles; }

support::Result<Profile> profile_named(std::string_view name) {
    std::vector<std::string> names;
    std::string all;
    for (const Profile& profile : kProfiles) {
        if (profile.name == name)
            return profile;
        names.emplace_back(profile.name);
        all += fmt::format("{}{}", all.empty() ? "" : ", ", profile.name);
    }
    const auto near = support::nearest(name, names);
    return support::Error{support::ErrorCode::wrong_input,
                          fmt::format("unknown profile '{}'", name),
                          near ? fmt::format("did you mean '{}'?  (profiles: {})", *near, all)
                               : fmt::format("profiles: {}", all)};
}

} // namespace mqcore::scenario
