#include "worker/source.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <numeric>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace mqcore::worker {
namespace {

using support::Json;
using support::JsonObject;
using support::now_ns;

constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

timespec to_timespec(Nanoseconds at) {
    return {.tv_sec = static_cast<time_t>(at / support::kSecond),
            .tv_nsec = static_cast<long>(at % support::kSecond)};
}

void add_alone(std::atomic<std::uint64_t>& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Sleeps while the word is `expected`, until an absolute CLOCK_MONOTONIC instant.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanoseconds until) {
    const timespec deadline = to_timespec(until);
    while (::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE,
                     expected, &deadline, nullptr, FUTEX_BITSET_MATCH_ANY) != 0 &&
           errno == EINTR) {
    }
}

void futex_wake(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT_MAX,
              nullptr, nullptr, 0);
}

bool register_membarrier() {
    return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

} // namespace

PacingSource::PacingSource(const std::optional<measure::SendSpec>& send,
                           const measure::Schedule& schedule, std::uint32_t connections,
                           measure::ControlPage& page, MisuseLog& misuse)
    : mqcore_source{
          .size = sizeof(mqcore_source),
          .reserved = 0,
          .wake_ns = 0,
          .next =
              [](mqcore_source* self, const mqcore_message** message) {
                  return static_cast<PacingSource*>(self)->answer(message);
              },
          .wait = [](mqcore_source* self) { static_cast<PacingSource*>(self)->wait_until_wake(); }},
      schedule_(schedule), offer_(schedule, send ? send->rate : std::nullopt,
                                  send ? send->pacing : measure::Pacing::tick),
      send_(send), slots_(send ? std::make_unique<SlotTable>(*send) : nullptr), page_(page),
      misuse_(misuse), drive_thread_(::pthread_self()), connections_(std::max(1u, connections)),
      send_end_(schedule.window_end()), limit_(send && send->limit ? *send->limit : kNoLimit),
      sent_by_interval_(schedule), completed_on_drive_thread_(schedule),
      completed_elsewhere_(schedule) {}

// --- measured path begins ---

int32_t PacingSource::answer(const mqcore_message** message) {
    if (!is_on_drive_thread()) [[unlikely]]
        misuse_.note(Misuse::next_off_drive_thread);
    const Nanoseconds now = now_ns();
    const Nanoseconds send_end = send_end_.load(std::memory_order_relaxed);
    last_slot_ = ~std::uint32_t{0};
    if (now >= send_end) [[unlikely]]
        return finish(now);
    if (!slots_ || sent_ >= limit_) [[unlikely]] {
        ++idle_;
        return say_wait(send_end);
    }
    if (const Nanoseconds until = offer_.wait_until(now)) {
        ++slept_;
        return say_wait(std::min(until, send_end));
    }
    const std::optional<std::uint32_t> slot = slots_->take();
    if (!slot) {
        ++window_full_;
        is_window_full_ = true;
        wake_ns = send_end;
        return MQCORE_WAIT;
    }

    const std::uint64_t sequence = offer_.take();
    mqcore_message& out = slots_->message(*slot);
    if (send_->topics.size() > 1) {
        out.topic = static_cast<std::uint16_t>(topic_turn_);
        topic_turn_ = topic_turn_ + 1 == send_->topics.size() ? 0 : topic_turn_ + 1;
    }
    if (send_->topic_alias)
        out.topic = sequence < connections_ ? 0 : 1; // a connection's first message sets the alias
    if (connections_ > 1)
        out.connection = static_cast<std::uint32_t>(sequence % connections_);
    const std::uint32_t bytes = send_->payload_bytes[length_turn_];
    if (send_->payload_bytes.size() > 1)
        length_turn_ = length_turn_ + 1 == send_->payload_bytes.size() ? 0 : length_turn_ + 1;
    out.payload_bytes = bytes;
    out.qos = static_cast<std::uint8_t>(send_->qos);
    measure::stamp_payload(slots_->payload(*slot), bytes, now, sequence);

    if (offer_.is_paced())
        if (const Nanoseconds due = offer_.due_ns(sequence); schedule_.in_window(due))
            lag_.record(now - due);
    sent_by_interval_.add(now);
    if (sent_ < first_stamps_.size()) [[unlikely]]
        first_stamps_[sent_] = now;
    ++sent_;
    page_.sent.store(sent_, std::memory_order_relaxed);
    last_slot_ = *slot;
    last_now_ = now;
    *message = &out;
    return MQCORE_SEND;
}

int32_t PacingSource::say_wait(Nanoseconds until) {
    is_window_full_ = false;
    wake_ns = until;
    return MQCORE_WAIT;
}

int32_t PacingSource::finish(Nanoseconds now) {
    is_window_full_ = false;
    if (now < schedule_.end() && send_end_.load(std::memory_order_relaxed) != 0) {
        ++idle_;
        wake_ns = schedule_.end();
        return MQCORE_DRAIN;
    }
    if (has_stopped_)
        misuse_.note(Misuse::next_after_stop);
    has_stopped_ = true;
    return MQCORE_STOP;
}

// A driver that waits for the schedule is not woken by completions: the wake-ups would be billed to
// the client under test. One that waits for a full window is.
void PacingSource::wait_until_wake() {
    const std::uint32_t what = is_window_full_ ? kSlot : kSchedule;
    // Either this thread sees the slot that another thread has just given back, or its interrupt, or
    // that thread sees that this one waits: both sides write before they read, in the total order of
    // seq_cst.
    waits_for_.store(what, std::memory_order_seq_cst);
    const bool is_over = send_end_.load(std::memory_order_seq_cst) == 0;
    if (!is_over && !(what == kSlot && slots_->has_returned()))
        futex_wait(waits_for_, what, wake_ns);
    waits_for_.store(kNothing, std::memory_order_relaxed);
}

void PacingSource::wake_waiter() {
    std::uint32_t expected = kSlot;
    if (waits_for_.load(std::memory_order_seq_cst) == kSlot &&
        waits_for_.compare_exchange_strong(expected, kNothing, std::memory_order_seq_cst))
        futex_wake(waits_for_);
}

void PacingSource::complete(std::uint32_t slot, std::int32_t status) {
    const bool is_here = is_on_drive_thread();
    // A completion inside the publish call happens at the instant of its next(), which has read the
    // clock already. Any other completion reads it here.
    const Nanoseconds now = is_here && slot == last_slot_ ? last_now_ : now_ns();
    if (!(is_here ? slots_->give_back_here(slot) : slots_->give_back_elsewhere(slot))) {
        misuse_.note(Misuse::done_twice);
        return;
    }
    const bool is_good = status == MQCORE_OK;
    if (is_here) {
        add_alone(is_good ? page_.completed_on_drive_thread : page_.failed_on_drive_thread);
        if (is_good)
            completed_on_drive_thread_.add(now);
    } else {
        (is_good ? page_.completed_elsewhere : page_.failed_elsewhere)
            .fetch_add(1, std::memory_order_relaxed);
        if (is_good)
            completed_elsewhere_.add(now);
        wake_waiter();
    }
}

// --- measured path ends ---

void PacingSource::interrupt() {
    send_end_.store(0, std::memory_order_seq_cst);
    if (waits_for_.exchange(kNothing, std::memory_order_seq_cst) != kNothing)
        futex_wake(waits_for_);
}

Json PacingSource::report() const {
    if (!send_)
        return nullptr;
    const std::uint64_t failed = page_.failed();
    measure::IntervalList by_interval = completed_elsewhere_.counts();
    for (std::size_t index = 0; index < by_interval.size(); ++index)
        by_interval[index] += completed_on_drive_thread_.counts()[index];
    // Not the page's count: a library's own thread may still complete, and the two are to agree.
    const std::uint64_t completed =
        std::accumulate(by_interval.begin(), by_interval.end(), std::uint64_t{0});
    JsonObject report{
        {"sent", sent_},
        {"sent_window", sent_by_interval_.in_window()},
        {"completed", completed},
        {"completed_window", measure::sum_of_window(sent_by_interval_.intervals(), by_interval)},
        {"failed", failed},
        {"unfinished", sent_ - std::min(sent_, completed + failed)},
        {"slept", slept_},
        {"window_full", window_full_}};
    const bool is_paced = offer_.is_paced();
    const std::uint64_t due = offer_.due_between(schedule_.window_start(), schedule_.window_end());
    report["due_in_window"] = is_paced ? Json(due) : Json(nullptr);
    report["never_sent"] =
        is_paced ? Json(due - std::min(due, lag_.count() + lag_.too_large())) : Json(nullptr);
    report["lag"] = is_paced ? lag_.to_json() : Json(nullptr);
    report["series"] = JsonObject{{"sent", measure::to_json(sent_by_interval_.counts())},
                                  {"completed", measure::to_json(by_interval)}};
    return report;
}

CountingSink::CountingSink(PacingSource& source, const std::optional<measure::ReceiveSpec>& receive,
                           const measure::Schedule& schedule, std::uint32_t window,
                           measure::ControlPage& page, MisuseLog& misuse)
    : mqcore_sink{.size = sizeof(mqcore_sink),
                  .reserved = 0,
                  .done =
                      [](mqcore_sink* self, std::uint32_t slot, std::int32_t status) {
                          static_cast<CountingSink*>(self)->take_completion(slot, status);
                      },
                  .received =
                      [](mqcore_sink* self, const void* payload, std::uint32_t bytes,
                         std::uint32_t filter, std::uint32_t) {
                          static_cast<CountingSink*>(self)->take_arrival(payload, bytes, filter);
                      }},
      source_(source), page_(page), misuse_(misuse), window_(window),
      needs_fence_(!register_membarrier()) {
    if (receive) {
        arrivals_ = std::make_unique<measure::ArrivalRecorder>(
            measure::ArrivalSpec{.tag = receive->tag,
                                 .payload_bytes = receive->payload_bytes,
                                 .rate = receive->rate},
            schedule);
        by_filter_.resize(receive->filters.size());
        topics_ = receive->topics;
    }
}

// --- measured path begins ---

void CountingSink::take_completion(std::uint32_t slot, std::int32_t status) {
    if (is_forbidden_.load(std::memory_order_relaxed)) [[unlikely]]
        return misuse_.note(Misuse::done_after_disconnect);
    if (slot >= window_) [[unlikely]]
        return misuse_.note(Misuse::done_unknown_slot);
    source_.complete(slot, status);
}

void CountingSink::take_arrival(const void* payload, std::uint32_t bytes, std::uint32_t filter) {
    if (is_forbidden_.load(std::memory_order_relaxed)) [[unlikely]]
        return misuse_.note(Misuse::received_after_disconnect);
    if (is_inside_.load(std::memory_order_relaxed)) [[unlikely]] {
        misuse_.note(Misuse::received_at_once);
        while (is_inside_.load(std::memory_order_acquire)) // or the counts would be spoilt as well
            std::this_thread::yield();
    }
    const Nanoseconds now = now_ns();
    // Half of a handshake with close(): say "inside", then look whether it is closed. The store is
    // plain; close() orders it before the load with membarrier().
    if (needs_fence_) [[unlikely]]
        is_inside_.store(true, std::memory_order_seq_cst);
    else
        is_inside_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!is_closed_.load(std::memory_order_seq_cst)) {
        if (arrivals_) {
            const auto verdict = arrivals_->record(payload, bytes, now);
            if (filter < by_filter_.size()) {
                ++by_filter_[filter];
                if (verdict == measure::ArrivalRecorder::Verdict::counted &&
                    measure::carries_sequence(bytes))
                    check_filter(static_cast<const std::uint8_t*>(payload), filter);
            } else {
                ++catch_all_;
            }
            page_.received.store(arrivals_->total(), std::memory_order_relaxed);
        } else {
            unexpected_.fetch_add(1, std::memory_order_relaxed);
        }
    }
    is_inside_.store(false, std::memory_order_release);
}

// The sender goes through its topics in turn, so the sequence number tells the topic and its filter.
void CountingSink::check_filter(const std::uint8_t* payload, std::uint32_t filter) {
    if (measure::read_sequence(payload) % topics_ % by_filter_.size() != filter) [[unlikely]]
        ++misdirected_;
}

// --- measured path ends ---

void CountingSink::close() {
    is_closed_.store(true, std::memory_order_seq_cst);
    if (!needs_fence_)
        ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    while (is_inside_.load(std::memory_order_acquire))
        std::this_thread::yield();
}

Json CountingSink::report() const {
    if (!arrivals_)
        return nullptr;
    JsonObject report = arrivals_->to_json().get_object();
    JsonObject by_filter;
    for (std::size_t filter = 0; filter < by_filter_.size(); ++filter)
        if (by_filter_[filter])
            by_filter[std::to_string(filter)] = by_filter_[filter];
    report["by_filter"] = std::move(by_filter);
    report["catch_all"] = catch_all_;
    report["misdirected"] = misdirected_;
    return report;
}

} // namespace mqcore::worker
