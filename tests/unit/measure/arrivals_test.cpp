#include "measure/arrivals.hpp"
#include "support/catch.hpp"

using namespace mqcore::measure;
using mqcore::support::Json;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;

namespace {

constexpr Schedule kSchedule{
    .start_ns = 10 * kSecond, .warmup_ns = kSecond, .window_ns = kSecond, .drain_ns = kSecond};
constexpr std::uint32_t kTag = 77;
const auto kInWindow = kSchedule.window_start() + 100 * kMillisecond;

struct Receiver {
    std::uint32_t bytes = 64;
    ArrivalRecorder recorder{{.tag = kTag, .payload_bytes = {bytes}, .rate = std::nullopt},
                             kSchedule};

    std::vector<std::uint8_t> message(std::uint64_t sequence, Nanoseconds stamp) const {
        std::vector<std::uint8_t> payload(bytes);
        prepare_payload(payload.data(), payload.size(), kTag);
        stamp_payload(payload.data(), payload.size(), stamp, sequence);
        return payload;
    }
    auto record(const std::vector<std::uint8_t>& payload, Nanoseconds now) {
        return recorder.record(payload.data(), payload.size(), now);
    }
};

using Verdict = ArrivalRecorder::Verdict;

} // namespace

TEST_CASE("arrivals are counted by phase") {
    Receiver receiver;
    const Nanoseconds instants[] = {kSchedule.start_ns, kSchedule.window_start(),
                                    kSchedule.window_end() - 1, kSchedule.window_end()};
    std::uint64_t sequence = 0;
    for (const Nanoseconds now : instants)
        REQUIRE(receiver.record(receiver.message(sequence++, now), now) == Verdict::counted);
    REQUIRE(receiver.recorder.total() == 4);
    REQUIRE(receiver.recorder.window() == 2);
    REQUIRE(receiver.recorder.to_json().at("drain") == 1);
}

TEST_CASE("latency belongs to the window in which the message was sent, not in which it arrived") {
    Receiver receiver;
    receiver.record(receiver.message(0, kSchedule.window_start() - 1), kInWindow);
    REQUIRE(receiver.recorder.transit().count() == 0);
    receiver.record(receiver.message(1, kSchedule.window_end() - 1), kSchedule.window_end() + 500);
    REQUIRE(receiver.recorder.transit().count() == 1);
    REQUIRE(*receiver.recorder.transit().max() == 501);
}

TEST_CASE("a message from the future is counted as impossible, never binned as 0") {
    Receiver receiver;
    receiver.record(receiver.message(0, kInWindow + 5), kInWindow);
    REQUIRE(receiver.recorder.transit().count() == 0);
    REQUIRE(receiver.recorder.to_json().at("impossible_latency") == 1);
}

TEST_CASE("a message of another run and a retained leftover are strays and enter no count") {
    Receiver receiver;
    auto other = receiver.message(0, kInWindow);
    other[16] ^= 1;
    REQUIRE(receiver.record(other, kInWindow) == Verdict::stray);
    const auto own = receiver.message(0, kInWindow);
    REQUIRE(receiver.recorder.record(own.data(), own.size(), kInWindow, true) == Verdict::stray);
    REQUIRE(receiver.recorder.total() == 0);
    REQUIRE(receiver.recorder.transit().count() == 0);
    const Json report = receiver.recorder.to_json();
    REQUIRE(report.at("stray") == 2);
    // The same number may still arrive: the leftover took nothing from the ledger.
    REQUIRE(report.at("ledger").at("distinct") == 0);
    REQUIRE(receiver.record(own, kInWindow) == Verdict::counted);
}

TEST_CASE("damage is found in every byte after the header, in length and in truncation") {
    for (std::size_t at = kHeaderBytes; at < 64; ++at) {
        Receiver receiver;
        auto payload = receiver.message(0, kInWindow);
        payload[at] ^= 0x10;
        REQUIRE(receiver.record(payload, kInWindow) == Verdict::damaged);
    }
    Receiver receiver;
    auto cut = receiver.message(0, kInWindow);
    cut.pop_back();
    REQUIRE(receiver.record(cut, kInWindow) == Verdict::damaged);
    auto longer = receiver.message(1, kInWindow);
    longer.push_back(0);
    REQUIRE(receiver.record(longer, kInWindow) == Verdict::damaged);
    REQUIRE(receiver.recorder.to_json().at("first_damaged_bytes") == 63);
}

TEST_CASE("a duplicate is told apart and has no latency") {
    Receiver receiver;
    const auto payload = receiver.message(5, kInWindow);
    REQUIRE(receiver.record(payload, kInWindow + 1) == Verdict::counted);
    REQUIRE(receiver.record(payload, kInWindow + 900) == Verdict::duplicate);
    REQUIRE(receiver.recorder.transit().count() == 1);
}

TEST_CASE("payloads of 0 to 24 bytes are counted exactly; latency only where the stamp fits") {
    for (std::uint32_t bytes = 0; bytes <= 24; ++bytes) {
        Receiver receiver{.bytes = bytes};
        for (std::uint64_t sequence = 0; sequence < 3; ++sequence)
            REQUIRE(receiver.record(receiver.message(sequence, kInWindow), kInWindow + 9) ==
                    Verdict::counted);
        REQUIRE(receiver.recorder.window() == 3);
        REQUIRE(receiver.recorder.transit().count() == (bytes >= 8 ? 3 : 0));
        const Json report = receiver.recorder.to_json();
        REQUIRE(report.at("transit").is_null() == (bytes < 8));
        REQUIRE(report.at("ledger").is_null() == (bytes < 16));
    }
}

TEST_CASE("an empty payload may come as a null pointer") {
    Receiver receiver{.bytes = 0};
    REQUIRE(receiver.recorder.record(nullptr, 0, kInWindow) == Verdict::counted);
}

TEST_CASE("since due is measured from the schedule, so a stalled sender cannot hide") {
    ArrivalRecorder recorder({.tag = kTag, .payload_bytes = {64}, .rate = 1000}, kSchedule);
    Receiver maker;
    // Message 1099 is due at 1.1 s after the start; it is sent 50 ms late and travels 1 µs.
    const auto sent = kSchedule.start_ns + 1150 * kMillisecond;
    const auto payload = maker.message(1099, sent);
    recorder.record(payload.data(), payload.size(), sent + 1000);
    const auto since_due = Histogram::from_json(recorder.to_json().at("since_due"));
    REQUIRE(since_due);
    REQUIRE(*since_due->max() == 50 * kMillisecond + 1000);
    REQUIRE(*recorder.transit().max() == 1000);
}

TEST_CASE("each interval knows what arrived in it and its largest latency") {
    ArrivalRecorder recorder({.tag = kTag, .payload_bytes = {64}, .rate = 100}, kSchedule);
    Receiver maker;
    // Tenths of a second. Messages 0 to 299 are due every 10 ms from 10 ms on; all of the fifth tenth of the
    // window are kept back until its end, and one of the last before the drain.
    const auto held_from = kSchedule.window_start() + 400 * kMillisecond;
    const auto held_to = held_from + 100 * kMillisecond;
    for (std::uint64_t sequence = 0; sequence < 199; ++sequence) {
        const auto due = kSchedule.start_ns + (sequence + 1) * 10 * kMillisecond;
        const auto sent = due >= held_from && due < held_to ? held_to : due;
        const auto payload = maker.message(sequence, sent);
        recorder.record(payload.data(), payload.size(), sent + 1500);
    }
    const auto last = maker.message(199, kSchedule.window_end());
    recorder.record(last.data(), last.size(), kSchedule.end() + 5);

    const Json series = recorder.to_json().at("series");
    CHECK(series.as_object().size() == 2); // since due alone is told where it is known
    const auto& arrived = series.at("arrived").as_array();
    const auto& slowest = series.at("since_due_max_us").as_array();
    REQUIRE(arrived.size() == 31);
    REQUIRE(slowest.size() == 31);
    CHECK(arrived[0] == 9);
    CHECK(arrived[13] == 10);
    CHECK(slowest[13] == 2); // 1.5 µs, rounded up
    CHECK(arrived[14] == 0);
    CHECK(slowest[14].is_null()); // nothing arrived, so nothing was slow
    CHECK(arrived[15] == 20);
    CHECK(slowest[15] == 100'002);
    CHECK(arrived[29] == 0);
    CHECK(arrived[30] == 1); // after the schedule's end
    CHECK(slowest[30] == 1'000'001);
    std::uint64_t sum = 0;
    for (const Json& count : arrived)
        sum += count.to_number<std::uint64_t>();
    CHECK(sum == recorder.total());
    CHECK(recorder.to_json().at("drain") == 1);
}

TEST_CASE("transit is told over time where there is no schedule, nothing where there is no stamp") {
    Receiver paceless;
    paceless.record(paceless.message(0, kInWindow), kInWindow + 7000);
    CHECK(paceless.recorder.to_json().at("series").as_object().contains("transit_max_us"));
    Receiver bare{.bytes = 4};
    bare.record(bare.message(0, kInWindow), kInWindow + 7000);
    CHECK(bare.recorder.to_json().at("series").as_object().size() == 1);
    // A repetition has no latency of its own.
    Receiver twice;
    const auto payload = twice.message(0, kInWindow);
    twice.record(payload, kInWindow + 7000);
    twice.record(payload, kInWindow + 95 * kMillisecond);
    const Json series = twice.recorder.to_json().at("series");
    CHECK(series.at("arrived").as_array().back() == 2);
    CHECK(series.at("transit_max_us").as_array().back() == 7);
}
