#include "measure/offer.hpp"

namespace mqcore::measure {

std::string_view name_of(Pacing pacing) { return pacing == Pacing::tick ? "tick" : "each"; }

std::optional<Pacing> pacing_of(std::string_view name) {
    if (name == "tick")
        return Pacing::tick;
    if (name == "each")
        return Pacing::each;
    return std::nullopt;
}

std::uint64_t Offer::first_due_at_or_after(Nanoseconds at) const {
    if (at <= schedule_.start_ns)
        return 0;
    const auto scaled = static_cast<Wide>(at - schedule_.start_ns) << kFractionBits;
    auto sequence = static_cast<std::uint64_t>(scaled / period_fixed_); // off by one at most
    while (sequence > 0 && due_ns(sequence - 1) >= at)
        --sequence;
    while (due_ns(sequence) < at)
        ++sequence;
    return sequence;
}

std::uint64_t Offer::due_between(Nanoseconds from, Nanoseconds until) const {
    if (!is_paced() || until <= from)
        return 0;
    return first_due_at_or_after(until) - first_due_at_or_after(from);
}

} // namespace mqcore::measure
