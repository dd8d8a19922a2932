#pragma once
// What one receiver knows of the messages that reached it: counts by interval of the run, the ledger of
// sequence numbers, damage, strays, and latency. The peer's sink and the worker's sink are this class, so both
// ends of a run count the same way. One writer; record() allocates nothing and calls no kernel.

#include "measure/histogram.hpp"
#include "measure/intervals.hpp"
#include "measure/ledger.hpp"
#include "measure/offer.hpp"
#include "measure/payload.hpp"
#include "measure/schedule.hpp"

#include <algorithm>
#include <vector>

namespace mqcore::measure {

struct ArrivalSpec {
    std::uint32_t tag = 0;                    // of this run
    std::vector<std::uint32_t> payload_bytes; // of the sender, round robin by sequence number
    std::optional<double> rate;               // of the sender's fixed offer, for "since due"
    std::uint64_t ledger_capacity = SequenceLedger::kDefaultCapacity;
};

class ArrivalRecorder {
  public:
    ArrivalRecorder(const ArrivalSpec& spec, const Schedule& schedule);
    ArrivalRecorder(const ArrivalRecorder&) = delete; // points into itself
    ArrivalRecorder& operator=(const ArrivalRecorder&) = delete;

    enum class Verdict { counted, duplicate, damaged, stray };

    // payload may be null when bytes is 0. is_retained: the packet's RETAIN flag where the caller can
    // see it (MQTT 3.1.1 section 3.3.1.3): a leftover of another run, never counted.
    Verdict record(const void* data, std::size_t bytes, Nanoseconds now, bool is_retained = false) {
        const auto* payload = static_cast<const std::uint8_t*>(data);
        if (is_retained || (carries_tag(bytes) && read_tag(payload) != tag_)) {
            ++stray_;
            return Verdict::stray;
        }
        ++total_;
        const std::size_t interval = arrived_.add(now);
        if (!is_expected_length(payload, bytes) || !fill_.intact(payload, bytes)) {
            if (damaged_++ == 0)
                first_damaged_bytes_ = bytes;
            return Verdict::damaged;
        }
        if (carries_sequence(bytes)) {
            const std::uint64_t sequence = read_sequence(payload);
            if (ledger_.record(sequence) == SequenceLedger::Arrival::duplicate)
                return Verdict::
                    duplicate; // its latency is that of a repetition, not of the message
            if (offer_.is_paced())
                record_since(offer_.due_ns(sequence), now, since_due_, interval);
        }
        if (carries_stamp(bytes))
            record_since(read_stamp(payload), now, transit_, interval);
        return Verdict::counted;
    }

    std::uint64_t total() const { return total_; }
    std::uint64_t window() const { return arrived_.in_window(); }
    const SequenceLedger& ledger() const { return ledger_; }
    const Histogram& transit() const { return transit_; }

    // {"total", "window", "drain", "stray", "damaged", "first_damaged_bytes", "impossible_latency",
    //  "ledger": {...} or null when no payload carries a sequence, "transit", "since_due", "series"}
    support::Json to_json() const;

  private:
    // Where lengths differ, a sequence number tells which one the message must have.
    bool is_expected_length(const std::uint8_t* payload, std::size_t bytes) const {
        if (lengths_.size() == 1) [[likely]]
            return bytes == lengths_.front();
        if (!lengths_.empty() && carries_sequence(bytes))
            return bytes == lengths_[read_sequence(payload) % lengths_.size()];
        return std::ranges::find(lengths_, bytes) != lengths_.end();
    }
    // A message belongs to the window by the instant it was sent (or due), so that the slowest ones,
    // which arrive in the drain, are not cut off. In the series it belongs where it arrived.
    void record_since(Nanoseconds from, Nanoseconds now, Histogram& histogram,
                      std::size_t interval) {
        if (now < from) [[unlikely]] {
            if (schedule_.in_window(from))
                ++impossible_latency_; // from the future: counted and shown, never binned as 0
            return;
        }
        const Nanoseconds latency = now - from;
        if (&histogram == told_ && latency > slowest_[interval])
            slowest_[interval] = latency;
        if (schedule_.in_window(from))
            histogram.record(latency);
    }

    Schedule schedule_;
    Offer offer_;
    std::uint32_t tag_;
    std::vector<std::uint32_t> lengths_;
    FillCheck fill_;
    SequenceLedger ledger_;
    std::uint64_t total_ = 0;
    IntervalCounts arrived_;
    // Of each interval the largest latency, 0: none. One kind is told over time: since due where it is
    // known, because a sender that stalls cannot hide in it, else transit.
    IntervalList slowest_;
    const Histogram* told_; // null: no payload carries a stamp
    std::uint64_t stray_ = 0;
    std::uint64_t damaged_ = 0;
    std::uint64_t impossible_latency_ = 0;
    std::uint64_t first_damaged_bytes_ = 0;
    Histogram transit_;
    Histogram since_due_;
};

} // namespace mqcore::measure
