#pragma once
// The one absolute timetable that worker, peer and orchestrator share: warm-up, window, drain on
// CLOCK_MONOTONIC. Sending ends with the window; the drain lets totals reconcile. Who is late for a
// phase is late on this timetable; nobody's own start or end defines the window.

#include "support/clock.hpp"
#include "support/json.hpp"

namespace mqcore::measure {

using support::Nanoseconds;

enum class Phase { before, warmup, window, drain, after };

struct Schedule {
    Nanoseconds start_ns = 0; // an instant: begin of the warm-up
    Nanoseconds warmup_ns = 0;
    Nanoseconds window_ns = 0;
    Nanoseconds drain_ns = 0;

    Nanoseconds window_start() const { return start_ns + warmup_ns; }
    Nanoseconds window_end() const { return window_start() + window_ns; }
    Nanoseconds end() const { return window_end() + drain_ns; }
    // What the series of a run are cut into (measure/intervals.hpp): seconds, and tenths of one where the
    // window has so few seconds that they would tell nothing.
    Nanoseconds interval_ns() const {
        return window_ns < 5 * support::kSecond ? support::kSecond / 10 : support::kSecond;
    }
    bool in_window(Nanoseconds at) const { return at >= window_start() && at < window_end(); }
    Phase phase_at(Nanoseconds at) const {
        return at < start_ns         ? Phase::before
               : at < window_start() ? Phase::warmup
               : at < window_end()   ? Phase::window
               : at < end()          ? Phase::drain
                                     : Phase::after;
    }
};

// With "interval_ns", so that a file tells how its series are cut; reading it back needs none.
support::Json to_json(const Schedule& schedule);
Schedule schedule_from_json(const support::Json& json);

} // namespace mqcore::measure
