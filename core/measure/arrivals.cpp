#include "measure/arrivals.hpp"

#include <algorithm>

namespace mqcore::measure {

ArrivalRecorder::ArrivalRecorder(const ArrivalSpec& spec, const Schedule& schedule)
    : schedule_(schedule), offer_(schedule, spec.rate, Pacing::tick), tag_(spec.tag),
      lengths_(spec.payload_bytes),
      fill_(spec.payload_bytes.empty() ? 0 : std::ranges::max(spec.payload_bytes)),
      ledger_(spec.ledger_capacity) {}

support::Json ArrivalRecorder::to_json() const {
    const bool has_sequence =
        std::ranges::any_of(lengths_, [](std::uint32_t bytes) { return carries_sequence(bytes); });
    support::JsonObject object{
        {"total", total_},
        {"window", window_},
        {"drain", drain_},
        {"stray", stray_},
        {"damaged", damaged_},
        {"first_damaged_bytes", damaged_ ? support::Json(first_damaged_bytes_) : nullptr},
        {"impossible_latency", impossible_latency_}};
    object["ledger"] = has_sequence ? ledger_.to_json() : support::Json(nullptr);
    object["transit"] = transit_.count() ? transit_.to_json() : support::Json(nullptr);
    object["since_due"] = since_due_.count() ? since_due_.to_json() : support::Json(nullptr);
    return object;
}

} // namespace mqcore::measure
