#pragma once
// What a sink or an echo receives: the shared arrival recorder, and what only a peer can see of the
// packets. Messages before the drive are acknowledged and counted apart, because the timetable that
// would place them is not known yet.

#include "measure/arrivals.hpp"
#include "measure/specification.hpp"
#include "peer/decode.hpp"
#include "peer/packet_stream.hpp"
#include "peer/properties.hpp"

#include <algorithm>
#include <optional>

namespace mqcore::peer {

// What a connection saw of PUBLISH packets below the messages.
struct Seen {
    std::uint64_t dup_flagged = 0;
    std::uint64_t qos2_repeated = 0;            // a QoS 2 PUBLISH again before its PUBREL
    std::uint64_t receive_maximum_exceeded = 0; // beyond what the receiver allowed
};

class Receipts {
  public:
    explicit Receipts(const measure::ReceiveSpec& spec)
        : spec_(spec), wanted_properties_(property_block(spec.properties)) {}

    void begin(const measure::Schedule& schedule) {
        recorder_.emplace(measure::ArrivalSpec{.tag = spec_.tag,
                                               .payload_bytes = spec_.payload_bytes,
                                               .rate = spec_.rate},
                          schedule);
    }

    // Stray means: not of this run.
    measure::ArrivalRecorder::Verdict record(const PublishView& publish, Nanoseconds now) {
        if (publish.is_retained)
            ++retained_;
        if (!recorder_) [[unlikely]] {
            ++before_drive_;
            return measure::ArrivalRecorder::Verdict::stray;
        }
        const auto verdict = recorder_->record(publish.payload.data(), publish.payload.size(), now,
                                               publish.is_retained);
        if (!wanted_properties_.empty() && verdict != measure::ArrivalRecorder::Verdict::stray &&
            has_wanted_properties(publish.properties))
            ++with_properties_;
        return verdict;
    }

    support::Json report(const Seen& seen) const {
        support::JsonObject report = recorder_->to_json().get_object();
        report["dup_flagged"] = seen.dup_flagged;
        report["retained"] = retained_;
        report["before_drive"] = before_drive_;
        report["qos2_repeated"] = seen.qos2_repeated;
        report["receive_maximum_exceeded"] = seen.receive_maximum_exceeded;
        report["with_properties"] =
            wanted_properties_.empty() ? support::Json(nullptr) : support::Json(with_properties_);
        return report;
    }

  private:
    // A server writes the same block for every message, so one comparison of bytes is the rule.
    bool has_wanted_properties(Bytes block) {
        if (!block.empty() && std::ranges::equal(block, good_block_))
            return true;
        if (!carries_properties(block, wanted_properties_))
            return false;
        good_block_.assign(block.begin(), block.end());
        return true;
    }

    measure::ReceiveSpec spec_;
    std::vector<std::uint8_t> wanted_properties_; // empty: none
    std::vector<std::uint8_t> good_block_;        // the last one that carried them
    std::uint64_t with_properties_ = 0;
    std::optional<measure::ArrivalRecorder> recorder_;
    std::uint64_t retained_ = 0;
    std::uint64_t before_drive_ = 0;
};

} // namespace mqcore::peer
