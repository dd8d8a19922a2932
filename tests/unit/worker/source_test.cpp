#include "support/catch.hpp"
#include "worker/source.hpp"

#include <thread>

using namespace mqcore;
using namespace mqcore::worker;
using measure::Schedule;
using support::kMillisecond;
using support::now_ns;

namespace {

Schedule short_schedule(Nanoseconds window = 50 * kMillisecond) {
    return {
        .start_ns = now_ns(), .warmup_ns = 0, .window_ns = window, .drain_ns = 200 * kMillisecond};
}

measure::SendSpec spec(std::uint32_t window = 4) {
    return {.topics = {"t"},
            .payload_bytes = {64},
            .qos = 1,
            .rate = {},
            .window = window,
            .tag = 9,
            .limit = {}};
}

struct Bench {
    explicit Bench(std::optional<measure::SendSpec> send, Schedule timetable = short_schedule(),
                   std::optional<measure::ReceiveSpec> receive = {})
        : schedule(timetable), source(send, schedule, 1, page, misuse),
          sink(source, receive, schedule, send ? send->window : 0, page, misuse) {}

    int32_t next() { return source.next(&source, &message); }
    void done(std::uint32_t slot, std::int32_t status = MQCORE_OK) {
        sink.done(&sink, slot, status);
    }
    std::string misused() const { return support::print_json(misuse.to_json()); }

    Schedule schedule;
    measure::ControlPage page;
    MisuseLog misuse;
    PacingSource source;
    CountingSink sink;
    const mqcore_message* message = nullptr;
};

} // namespace

TEST_CASE("no more than the window is out, and a completion opens it again") {
    Bench bench(spec(4));
    for (int i = 0; i < 4; ++i)
        REQUIRE(bench.next() == MQCORE_SEND);
    REQUIRE(bench.next() == MQCORE_WAIT);
    REQUIRE(bench.source.wake_ns == bench.schedule.window_end());
    bench.done(2);
    REQUIRE(bench.next() == MQCORE_SEND);
    REQUIRE(bench.message->slot == 2);
    REQUIRE(bench.next() == MQCORE_WAIT);
}

TEST_CASE("each message carries its stamp, its sequence number and the run's tag") {
    Bench bench(spec());
    const Nanoseconds before = now_ns();
    for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
        REQUIRE(bench.next() == MQCORE_SEND);
        REQUIRE(bench.message->payload_bytes == 64);
        REQUIRE(measure::read_sequence(bench.message->payload) == sequence);
        REQUIRE(measure::read_tag(bench.message->payload) == 9);
        const Nanoseconds stamp = measure::read_stamp(bench.message->payload);
        REQUIRE(stamp >= before);
        REQUIRE(stamp <= now_ns());
        bench.done(bench.message->slot);
    }
}

TEST_CASE("topics and payload lengths go round robin") {
    measure::SendSpec send = spec();
    send.topics = {"a", "b"};
    send.payload_bytes = {20, 64, 30};
    Bench bench(send);
    const std::uint32_t topics[] = {0, 1, 0, 1};
    const std::uint32_t lengths[] = {20, 64, 30, 20};
    for (int i = 0; i < 4; ++i) {
        REQUIRE(bench.next() == MQCORE_SEND);
        REQUIRE(bench.message->topic == topics[i]);
        REQUIRE(bench.message->payload_bytes == lengths[i]);
        bench.done(bench.message->slot);
    }
}

TEST_CASE("the first message sets the topic alias, the others have an empty topic") {
    measure::SendSpec send = spec();
    send.topic_alias = 3;
    send.properties.content_type = "text/plain";
    Bench bench(send);
    for (const std::uint32_t topic : {0u, 1u, 1u}) {
        REQUIRE(bench.next() == MQCORE_SEND);
        REQUIRE(bench.message->topic == topic);
        REQUIRE(bench.message->topic_alias == 3);
        REQUIRE(bench.message->properties == 0);
        bench.done(bench.message->slot);
    }
}

TEST_CASE("a message in the callback of another filter is seen by its sequence number") {
    const measure::ReceiveSpec receive{
        .filters = {"a/+", "b/+"}, .tag = 9, .payload_bytes = {64}, .rate = {}, .topics = 4};
    Bench bench(std::nullopt, short_schedule(), receive);
    std::uint8_t payload[64];
    measure::prepare_payload(payload, sizeof payload, 9);
    const auto arrive = [&](std::uint64_t sequence, std::uint32_t filter) {
        measure::stamp_payload(payload, sizeof payload, now_ns(), sequence);
        bench.sink.received(&bench.sink, payload, sizeof payload, filter, 0);
    };
    for (std::uint64_t sequence = 0; sequence < 8; ++sequence)
        arrive(sequence, sequence % 2);
    bench.sink.close();
    REQUIRE(support::unsigned_or(bench.sink.report(), "misdirected", 9) == 0);
    REQUIRE(support::print_json(bench.sink.report().at("by_filter")) == R"({"0":4,"1":4})");

    Bench wrong(std::nullopt, short_schedule(), receive);
    measure::stamp_payload(payload, sizeof payload, now_ns(), 1);
    wrong.sink.received(&wrong.sink, payload, sizeof payload, 0, 0);
    measure::stamp_payload(payload, sizeof payload, now_ns(), 2);
    wrong.sink.received(&wrong.sink, payload, sizeof payload, MQCORE_NONE, 0);
    wrong.sink.close();
    REQUIRE(support::unsigned_or(wrong.sink.report(), "misdirected", 0) == 1);
    REQUIRE(support::unsigned_or(wrong.sink.report(), "catch_all", 0) == 1);
}

TEST_CASE("sending ends with the window, then drain, then stop") {
    Bench bench(spec(), short_schedule(20 * kMillisecond));
    int32_t step = bench.next();
    for (; step == MQCORE_SEND; step = bench.next())
        bench.done(bench.message->slot);
    REQUIRE(step == MQCORE_DRAIN);
    REQUIRE(bench.source.wake_ns == bench.schedule.end());
    bench.source.wait(&bench.source);
    REQUIRE(now_ns() >= bench.schedule.end());
    REQUIRE(bench.next() == MQCORE_STOP);
    REQUIRE(bench.source.has_stopped());
    REQUIRE(bench.misused() == "[]");
}

TEST_CASE("a receive-only run waits, drains and stops without sending") {
    Bench bench(std::nullopt, short_schedule(100 * kMillisecond));
    REQUIRE(bench.next() == MQCORE_WAIT);
    REQUIRE(bench.source.wake_ns == bench.schedule.window_end());
    bench.source.wait(&bench.source);
    REQUIRE(bench.next() == MQCORE_DRAIN);
    bench.source.wait(&bench.source);
    REQUIRE(bench.next() == MQCORE_STOP);
    REQUIRE(bench.source.report().is_null());
}

TEST_CASE("a limit ends the sending early") {
    measure::SendSpec send = spec();
    send.limit = 3;
    Bench bench(send);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(bench.next() == MQCORE_SEND);
        bench.done(bench.message->slot);
    }
    REQUIRE(bench.next() == MQCORE_WAIT);
    REQUIRE(bench.source.report().at("sent") == 3);
}

TEST_CASE("completing a slot twice, or one outside the window, is a misuse and no completion") {
    Bench bench(spec(4));
    REQUIRE(bench.next() == MQCORE_SEND);
    const std::uint32_t slot = bench.message->slot;
    bench.done(slot);
    bench.done(slot);
    bench.done(4);
    REQUIRE(bench.page.completed() == 1);
    REQUIRE(bench.misused().find("done-twice") != std::string::npos);
    REQUIRE(bench.misused().find("done-unknown-slot") != std::string::npos);
}

TEST_CASE("completing twice from another thread is a misuse as well") {
    Bench bench(spec(4));
    REQUIRE(bench.next() == MQCORE_SEND);
    const std::uint32_t slot = bench.message->slot;
    std::thread([&] {
        bench.done(slot);
        bench.done(slot);
    }).join();
    REQUIRE(bench.page.completed() == 1);
    REQUIRE(bench.misused().find("done-twice") != std::string::npos);
}

TEST_CASE("a failed message is counted as failed, not as completed") {
    Bench bench(spec());
    REQUIRE(bench.next() == MQCORE_SEND);
    bench.done(bench.message->slot, MQCORE_NETWORK);
    const support::Json report = bench.source.report();
    REQUIRE(report.at("failed") == 1);
    REQUIRE(report.at("completed") == 0);
    REQUIRE(report.at("unfinished") == 0);
}

TEST_CASE("calls after disconnect are misuse and change no count") {
    Bench bench(spec(), short_schedule(),
                measure::ReceiveSpec{.filters = {"t"}, .payload_bytes = {64}, .rate = {}});
    REQUIRE(bench.next() == MQCORE_SEND);
    bench.sink.close();
    bench.sink.forbid();
    bench.done(bench.message->slot);
    bench.sink.received(&bench.sink, bench.message->payload, 64, 0, 0);
    REQUIRE(bench.page.completed() == 0);
    REQUIRE(bench.page.received.load() == 0);
    REQUIRE(bench.misused().find("done-after-disconnect") != std::string::npos);
    REQUIRE(bench.misused().find("received-after-disconnect") != std::string::npos);
}

TEST_CASE("asking from another thread, or again after STOP, is a misuse") {
    Bench bench(std::nullopt,
                Schedule{.start_ns = 1, .warmup_ns = 1, .window_ns = 1, .drain_ns = 1});
    REQUIRE(bench.next() == MQCORE_STOP);
    REQUIRE(bench.misused() == "[]");
    REQUIRE(bench.next() == MQCORE_STOP);
    std::thread([&] { bench.next(); }).join();
    REQUIRE(bench.misused().find("next-after-stop") != std::string::npos);
    REQUIRE(bench.misused().find("next-off-drive-thread") != std::string::npos);
}

TEST_CASE("a driver that waits for a full window is woken by a completion of another thread") {
    Bench bench(spec(1), short_schedule(2000 * kMillisecond));
    std::atomic<int> out{-1};
    std::jthread completer([&](std::stop_token stop) {
        while (!stop.stop_requested())
            if (const int slot = out.exchange(-1); slot >= 0)
                bench.done(static_cast<std::uint32_t>(slot));
    });
    constexpr int kMessages = 2000;
    int sent = 0;
    const Nanoseconds limit = bench.schedule.window_end();
    while (sent < kMessages && now_ns() < limit) {
        const int32_t answer = bench.next();
        if (answer == MQCORE_SEND) {
            ++sent;
            out.store(bench.message->slot);
        } else if (answer == MQCORE_WAIT) {
            bench.source.wait(&bench.source); // a missed wake-up would sleep until the window's end
        } else {
            break;
        }
    }
    REQUIRE(sent == kMessages);
    REQUIRE(bench.misused() == "[]");
}

TEST_CASE("an interrupt wakes a driver that waits for the schedule or for a slot, and stops it") {
    measure::SendSpec paced = spec();
    paced.rate = 0.1; // the first message is due long after the test
    const measure::SendSpec full = spec(1);
    for (const measure::SendSpec& send : {paced, full}) {
        Bench bench(send, short_schedule(3600 * 1000 * kMillisecond));
        if (!send.rate)
            REQUIRE(bench.next() == MQCORE_SEND);
        REQUIRE(bench.next() == MQCORE_WAIT);
        std::thread library([&] { bench.source.interrupt(); });
        bench.source.wait(&bench.source); // without the interrupt: an hour
        library.join();
        REQUIRE(bench.next() == MQCORE_STOP);
        REQUIRE(bench.source.has_stopped());
        REQUIRE(bench.misused() == "[]");
    }
}

TEST_CASE("after an interrupt there is neither a wait nor a drain") {
    Bench bench(std::nullopt, short_schedule(3600 * 1000 * kMillisecond));
    REQUIRE(bench.next() == MQCORE_WAIT);
    bench.source.interrupt();
    bench.source.wait(&bench.source);
    REQUIRE(bench.next() == MQCORE_STOP);
}

TEST_CASE("an interrupt is not missed, however it meets the wait") {
    for (int i = 0; i < 300; ++i) {
        Bench bench(std::nullopt, short_schedule(3600 * 1000 * kMillisecond));
        std::thread library([&] { bench.source.interrupt(); });
        while (bench.next() == MQCORE_WAIT)
            bench.source.wait(&bench.source);
        library.join();
        REQUIRE(bench.source.has_stopped());
    }
}

TEST_CASE("the window holds and every slot comes back when completions race from two threads") {
    Bench bench(spec(64), short_schedule(300 * kMillisecond));
    std::vector<std::atomic<bool>> out(64);
    const auto complete_all = [&](std::stop_token stop) {
        while (!stop.stop_requested())
            for (std::uint32_t slot = 0; slot < 64; ++slot)
                if (out[slot].exchange(false))
                    bench.done(slot);
    };
    std::uint64_t sent = 0;
    {
        std::jthread one(complete_all), two(complete_all);
        for (int32_t answer; (answer = bench.next()) != MQCORE_STOP;) {
            if (answer == MQCORE_SEND) {
                ++sent;
                out[bench.message->slot].store(true);
            } else {
                bench.source.wait(&bench.source);
            }
        }
    }
    for (std::uint32_t slot = 0; slot < 64; ++slot)
        if (out[slot].exchange(false))
            bench.done(slot);
    REQUIRE(sent > 64);
    REQUIRE(bench.page.completed() == sent);
    REQUIRE(bench.misused() == "[]");

    // What three threads completed is one series, and it adds up.
    const support::Json report = bench.source.report();
    for (const char* what : {"sent", "completed"}) {
        std::uint64_t sum = 0;
        for (const support::Json& count : report.at("series").at(what).as_array())
            sum += count.to_number<std::uint64_t>();
        CHECK(sum == sent);
        CHECK(report.at(what) == sent);
    }
}

TEST_CASE("a driver that pauses leaves empty intervals, and nothing of the sum is missing") {
    measure::SendSpec send = spec(1000);
    send.rate = 1000;
    Bench bench(send, short_schedule(800 * kMillisecond));
    const measure::Intervals intervals(bench.schedule);
    Nanoseconds pause_from = 0, pause_to = 0;
    for (int32_t answer; (answer = bench.next()) != MQCORE_DRAIN;) {
        if (answer == MQCORE_SEND)
            bench.done(bench.message->slot);
        else
            bench.source.wait(&bench.source);
        if (pause_from == 0 && now_ns() >= bench.schedule.start_ns + 200 * kMillisecond) {
            pause_from = now_ns();
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            pause_to = now_ns();
        }
    }
    const support::Json report = bench.source.report();
    for (const char* what : {"sent", "completed"}) {
        std::vector<std::uint64_t> counts;
        for (const support::Json& count : report.at("series").at(what).as_array())
            counts.push_back(count.to_number<std::uint64_t>());
        counts.resize(intervals.size());
        std::uint64_t sum = 0, empty = 0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            sum += counts[i];
            if (intervals.bounds()[i] < pause_from || intervals.bounds()[i + 1] > pause_to)
                continue;
            CHECK(counts[i] == 0);
            ++empty;
        }
        CHECK(empty >= 2);
        CHECK(counts[0] > 0);
        CHECK(report.at(what) == sum);
    }
}

TEST_CASE("arrivals stop counting when the sink is closed while another thread delivers") {
    Bench bench(
        std::nullopt, short_schedule(1000 * kMillisecond),
        measure::ReceiveSpec{.filters = {"t"}, .tag = 9, .payload_bytes = {64}, .rate = {}});
    std::uint8_t payload[64];
    measure::prepare_payload(payload, sizeof payload, 9);
    std::jthread library([&](std::stop_token stop) {
        for (std::uint64_t sequence = 0; !stop.stop_requested(); ++sequence) {
            measure::stamp_payload(payload, sizeof payload, now_ns(), sequence);
            bench.sink.received(&bench.sink, payload, sizeof payload, 0, 0);
        }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bench.sink.close();
    const support::Json first = bench.sink.report();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    REQUIRE(bench.sink.report() == first);
    REQUIRE(first.at("total").to_number<std::uint64_t>() > 0);
    REQUIRE(first.at("ledger").at("duplicates") == 0);
}

TEST_CASE("what was due in the window and never sent is counted") {
    measure::SendSpec send = spec();
    send.rate = 1000;
    Bench bench(send, short_schedule(50 * kMillisecond));
    REQUIRE(bench.next() == MQCORE_WAIT); // the driver never asks again before the window is over
    std::this_thread::sleep_for(std::chrono::milliseconds(55));
    REQUIRE(bench.next() != MQCORE_SEND);
    const support::Json report = bench.source.report();
    REQUIRE(report.at("due_in_window") == 49);
    REQUIRE(report.at("never_sent") == 49);
    REQUIRE(report.at("sent") == 0);
}
