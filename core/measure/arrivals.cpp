#include "measure/arrivals.hpp"

#include <algorithm>

namespace mqcore::measure {
namespace {

// Rounded up, so that only an interval without a message has none.
support::Json microseconds(const IntervalList& slowest_ns) {
    IntervalList slowest_us;
    for (const std::uint64_t ns : slowest_ns)
        slowest_us.push_back((ns + 999) / 1000);
    support::Json list = to_json(slowest_us);
    for (support::Json& value : list.get_array())
        if (value == 0)
            value = nullptr;
    return list;
}

} // namespace

ArrivalRecorder::ArrivalRecorder(const ArrivalSpec& spec, const Schedule& schedule)
    : schedule_(schedule), offer_(schedule, spec.rate, Pacing::tick), tag_(spec.tag),
      lengths_(spec.payload_bytes),
      fill_(spec.payload_bytes.empty() ? 0 : std::ranges::max(spec.payload_bytes)),
      ledger_(spec.ledger_capacity), arrived_(schedule), slowest_(arrived_.counts().size()) {
    const auto all_carry = [&](bool (*carries)(std::size_t)) {
        return !lengths_.empty() && std::ranges::all_of(lengths_, carries);
    };
    told_ = offer_.is_paced() && all_carry(carries_sequence) ? &since_due_
            : all_carry(carries_stamp)                       ? &transit_
                                                             : nullptr;
}

support::Json ArrivalRecorder::to_json() const {
    const bool has_sequence =
        std::ranges::any_of(lengths_, [](std::uint32_t bytes) { return carries_sequence(bytes); });
    support::JsonObject object{
        {"total", total_},
        {"window", window()},
        {"drain", sum_after_window(arrived_.intervals(), arrived_.counts())},
        {"stray", stray_},
        {"damaged", damaged_},
        {"first_damaged_bytes", damaged_ ? support::Json(first_damaged_bytes_) : nullptr},
        {"impossible_latency", impossible_latency_}};
    object["ledger"] = has_sequence ? ledger_.to_json() : support::Json(nullptr);
    object["transit"] = transit_.count() ? transit_.to_json() : support::Json(nullptr);
    object["since_due"] = since_due_.count() ? since_due_.to_json() : support::Json(nullptr);
    support::JsonObject series{{"arrived", measure::to_json(arrived_.counts())}};
    if (told_)
        series[told_ == &since_due_ ? "since_due_max_us" : "transit_max_us"] =
            microseconds(slowest_);
    object["series"] = std::move(series);
    return object;
}

} // namespace mqcore::measure
