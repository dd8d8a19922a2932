#pragma once
// CPU times of a run over its intervals: read from outside at their bounds by the orchestrator, which is
// awake then for a few microseconds on a core of its own. A reading may come late; how late is told.

#include "machine/sample.hpp"
#include "measure/intervals.hpp"

#include <optional>
#include <vector>

namespace mqcore::session {

class CpuSeries {
  public:
    explicit CpuSeries(const measure::Schedule& schedule)
        : bounds_(measure::Intervals(schedule).bounds()), readings_(bounds_.size()) {}

    // The bounds up to an instant: next() gives one after the other. Those that had gone by when the
    // orchestrator woke are left out, but for the last one, since whoever waits for it needs it.
    std::optional<support::Nanoseconds> next(support::Nanoseconds until) const {
        return next_ < bounds_.size() && bounds_[next_] <= until ? std::optional(bounds_[next_])
                                                                 : std::nullopt;
    }
    bool has_gone_by(support::Nanoseconds now, support::Nanoseconds until) const {
        return next_ + 1 < bounds_.size() && bounds_[next_ + 1] <= std::min(now, until);
    }
    void leave_out() { ++next_; }
    // The CPU times, nothing where a party cannot be read.
    void add(support::Nanoseconds at, std::optional<support::Nanoseconds> client,
             std::optional<support::Nanoseconds> broker) {
        readings_[next_++] = Reading{.at = at, .client = client, .broker = broker};
    }

    // {"late_us": [one a bound], "client_cpu_us": [one an interval] or null, "broker_cpu_us": likewise}:
    // null in a list: not read, and the next value is of both intervals.
    support::Json to_json() const;

  private:
    struct Reading {
        support::Nanoseconds at = 0;
        std::optional<support::Nanoseconds> client, broker;
    };
    support::Json use_of(std::optional<support::Nanoseconds> Reading::*party) const;

    std::vector<support::Nanoseconds> bounds_;
    std::vector<std::optional<Reading>> readings_; // by bound
    std::size_t next_ = 0;
};

} // namespace mqcore::session
