#pragma once
// When the next message is due: the absolute grid of a fixed rate, or "as fast as you can". Used by
// the worker's source and by the peer's source alike, so that both sides pace the same way.
//
// Message n is due at start + (n + 1) / rate. Nothing is ever skipped: who falls behind meets the
// backlog, and its lag shows it.

#include "measure/schedule.hpp"

#include <cmath>
#include <optional>
#include <string_view>

namespace mqcore::measure {

// tick: sleep to the next 1 ms tick from the schedule's start, then hand out all that is due: few
// wake-ups, the same for every client. each: sleep to every message's own due time.
enum class Pacing { tick, each };

constexpr Nanoseconds kTick = support::kMillisecond;

std::string_view name_of(Pacing pacing);
std::optional<Pacing> pacing_of(std::string_view name);

__extension__ typedef unsigned __int128 Wide; // sequence times period needs 88 bits

class Offer {
  public:
    // rate: messages per second, above 0; nothing: capacity.
    Offer(const Schedule& schedule, std::optional<double> rate, Pacing pacing)
        : schedule_(schedule), pacing_(pacing) {
        if (rate)
            period_fixed_ = static_cast<std::uint64_t>(
                std::llround(1e9 / *rate * static_cast<double>(std::uint64_t{1} << kFractionBits)));
    }

    bool is_paced() const { return period_fixed_ != 0; }
    std::uint64_t next_sequence() const { return next_; }

    // Instant at which message n is due. Exact to 6 ns after 10^8 messages.
    Nanoseconds due_ns(std::uint64_t sequence) const {
        const auto product = static_cast<Wide>(sequence + 1) * period_fixed_;
        return schedule_.start_ns + static_cast<Nanoseconds>(product >> kFractionBits);
    }

    // 0: the next message may be sent at `now`; else the instant at which to ask again.
    Nanoseconds wait_until(Nanoseconds now) const {
        if (now < schedule_.start_ns)
            return schedule_.start_ns;
        if (!is_paced())
            return 0;
        const Nanoseconds due = due_ns(next_);
        if (now >= due)
            return 0;
        if (pacing_ == Pacing::each)
            return due;
        const Nanoseconds since_start = due - schedule_.start_ns;
        const Nanoseconds tick = schedule_.start_ns + (since_start + kTick - 1) / kTick * kTick;
        // The last tick is the end of sending: what is due before it must not fall into it.
        return tick >= schedule_.window_end() ? due : tick;
    }

    // Takes the next sequence number.
    std::uint64_t take() { return next_++; }

    // How many messages a fixed rate asks for in [from, until).
    std::uint64_t due_between(Nanoseconds from, Nanoseconds until) const;

  private:
    static constexpr unsigned kFractionBits = 24; // a period down to 0.01 messages/s fits 64 bits

    std::uint64_t first_due_at_or_after(Nanoseconds at) const;

    Schedule schedule_;
    Pacing pacing_;
    std::uint64_t period_fixed_ = 0; // nanoseconds, 24 fraction bits; 0: capacity
    std::uint64_t next_ = 0;
};

} // namespace mqcore::measure
