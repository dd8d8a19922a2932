#pragma once
// The core's half of a run inside the worker: what the driver pulls from and reports to. It owns pace,
// window, stamp, lag and counts. From next() to done() and received() this is the measured path: one
// clock read a call, no allocation, no lock, no system call.

#include "measure/arrivals.hpp"
#include "measure/control_page.hpp"
#include "measure/intervals.hpp"
#include "measure/offer.hpp"
#include "measure/specification.hpp"
#include "mqcore/driver.h"
#include "worker/misuse.hpp"
#include "worker/slots.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <pthread.h>
#include <span>
#include <vector>

namespace mqcore::worker {

using support::Nanoseconds;

// Answers next() by the schedule: SEND, WAIT, DRAIN, STOP.
class PacingSource : public mqcore_source {
  public:
    // Without a send specification (receive and idle points) there is only WAIT, DRAIN and STOP.
    PacingSource(const std::optional<measure::SendSpec>& send, const measure::Schedule& schedule,
                 std::uint32_t connections, measure::ControlPage& page, MisuseLog& misuse);

    // [drive-thread]
    int32_t answer(const mqcore_message** message);
    void wait_until_wake();
    bool has_stopped() const { return has_stopped_; }
    // How often it was asked and had nothing to hand out. After drive() has returned.
    std::uint64_t asked_in_vain() const { return slept_ + window_full_ + idle_; }
    // Of the first messages, by sequence number. Likewise.
    std::span<const Nanoseconds> first_stamps() const {
        return {first_stamps_.data(), std::min<std::size_t>(sent_, first_stamps_.size())};
    }

    // From here on next() answers STOP; wakes a driver that waits. [any-thread]
    void interrupt();

    // done() for a slot: frees it, wakes a driver that waits for it. [any-thread]
    void complete(std::uint32_t slot, std::int32_t status);

    // {"sent", "sent_window", ...} as in docs/architecture.md; null without a send specification.
    // After drive() has returned.
    support::Json report() const;

  private:
    bool is_on_drive_thread() const { return ::pthread_equal(::pthread_self(), drive_thread_); }
    int32_t say_wait(Nanoseconds until);
    int32_t finish(Nanoseconds now);
    void wake_waiter();

    enum : std::uint32_t { kNothing, kSlot, kSchedule }; // what the driving thread waits for

    // Written by the driving thread alone.
    measure::Schedule schedule_;
    measure::Offer offer_;
    std::optional<measure::SendSpec> send_;
    std::unique_ptr<SlotTable> slots_;
    measure::ControlPage& page_;
    MisuseLog& misuse_;
    pthread_t drive_thread_;
    std::uint32_t connections_;
    std::atomic<Nanoseconds> send_end_; // 0: interrupted, by any thread
    std::uint64_t limit_;
    bool is_window_full_ = false;
    bool has_stopped_ = false;
    std::uint32_t last_slot_ = ~std::uint32_t{0}; // handed out by the last next()
    Nanoseconds last_now_ = 0;                    // clock of that next()
    std::uint64_t topic_turn_ = 0;
    std::uint64_t length_turn_ = 0;
    std::uint64_t sent_ = 0;
    measure::IntervalCounts sent_by_interval_;
    measure::IntervalCounts completed_on_drive_thread_;
    std::uint64_t slept_ = 0;
    std::uint64_t window_full_ = 0;
    std::uint64_t idle_ = 0; // WAIT and DRAIN with nothing to send any more, or nothing at all
    std::array<Nanoseconds, 16> first_stamps_{};
    measure::Histogram lag_;
    // Written by other threads.
    alignas(128) measure::SharedIntervalCounts completed_elsewhere_;
    alignas(128) std::atomic<std::uint32_t> waits_for_{kNothing}; // futex word
};

// Counts completions and arrivals.
class CountingSink : public mqcore_sink {
  public:
    CountingSink(PacingSource& source, const std::optional<measure::ReceiveSpec>& receive,
                 const measure::Schedule& schedule, std::uint32_t window,
                 measure::ControlPage& page, MisuseLog& misuse);

    // Ends counting: when it returns, no thread is inside an arrival any more. [main-thread]
    void close();
    // After disconnect() has returned, every further call is a breach of the contract.
    void forbid() { is_forbidden_.store(true, std::memory_order_seq_cst); }

    // As in docs/architecture.md; null without a receive specification. After close().
    support::Json report() const;
    // Arrivals in a run that subscribes to nothing.
    std::uint64_t unexpected() const { return unexpected_.load(std::memory_order_relaxed); }

    void take_completion(std::uint32_t slot, std::int32_t status);
    void take_arrival(const void* payload, std::uint32_t bytes, std::uint32_t filter);

  private:
    void check_filter(const std::uint8_t* payload, std::uint32_t filter);

    PacingSource& source_;
    measure::ControlPage& page_;
    MisuseLog& misuse_;
    std::uint32_t window_;
    bool needs_fence_; // the kernel has no membarrier(): every arrival orders itself
    std::atomic<bool> is_closed_{false};
    std::atomic<bool> is_forbidden_{false};
    alignas(128) std::atomic<bool> is_inside_{false}; // a thread is recording an arrival
    std::unique_ptr<measure::ArrivalRecorder> arrivals_;
    std::vector<std::uint64_t> by_filter_;
    std::uint32_t topics_ = 1;
    std::uint64_t catch_all_ = 0;
    std::uint64_t misdirected_ = 0; // to the callback of another filter
    std::atomic<std::uint64_t> unexpected_{0};
};

} // namespace mqcore::worker
