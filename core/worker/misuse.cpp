#include "worker/misuse.hpp"

#include <fmt/format.h>
#include <string_view>

namespace mqcore::worker {
namespace {

// In the order of Misuse.
constexpr std::string_view kRules[] = {
    "done-twice: done() was called again for a slot that was not out",
    "done-unknown-slot: done() was called for a slot outside the window",
    "done-after-disconnect: done() was called after disconnect() had returned",
    "received-after-disconnect: received() was called after disconnect() had returned",
    "received-at-once: received() was called while another call was inside",
    "next-after-stop: next() was called after it had answered STOP",
    "next-off-drive-thread: next() was called from another thread than drive()'s",
    "returned-without-stop: drive() returned before next() had answered STOP",
};
static_assert(std::size(kRules) == static_cast<std::size_t>(Misuse::count_of_rules));

} // namespace

support::Json MisuseLog::to_json() const {
    support::JsonArray breaches;
    for (std::size_t rule = 0; rule < std::size(kRules); ++rule)
        if (const std::uint64_t times = counts_[rule].load(std::memory_order_relaxed))
            breaches.emplace_back(
                fmt::format("{} ({} {})", kRules[rule], times, times == 1 ? "time" : "times"));
    return breaches;
}

} // namespace mqcore::worker
