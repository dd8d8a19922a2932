#include "measure/offer.hpp"
#include "support/catch.hpp"

using namespace mqcore::measure;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;

namespace {

constexpr Schedule kSchedule{.start_ns = 1'000'000'123,
                             .warmup_ns = 500 * kMillisecond,
                             .window_ns = 2 * kSecond,
                             .drain_ns = kSecond};

} // namespace

TEST_CASE("message n is due at start + (n + 1) / rate") {
    const Offer offer(kSchedule, 2000, Pacing::tick);
    REQUIRE(offer.due_ns(0) == kSchedule.start_ns + 500'000);
    REQUIRE(offer.due_ns(1999) == kSchedule.start_ns + kSecond);
}

TEST_CASE("a period that is no whole nanosecond does not drift") {
    const Offer offer(kSchedule, 3, Pacing::tick);
    const std::uint64_t n = 300'000'000 - 1; // 10^8 seconds of three messages
    const auto exact = kSchedule.start_ns + 100'000'000 * kSecond;
    REQUIRE(static_cast<double>(offer.due_ns(n)) ==
            Approx(static_cast<double>(exact)).epsilon(1e-12));
}

TEST_CASE("before the start nothing may be sent, not even at capacity") {
    for (const std::optional<double> rate : {std::optional<double>{}, std::optional<double>{1000}})
        REQUIRE(Offer(kSchedule, rate, Pacing::tick).wait_until(kSchedule.start_ns - 1) ==
                kSchedule.start_ns);
    REQUIRE(Offer(kSchedule, std::nullopt, Pacing::tick).wait_until(kSchedule.start_ns) == 0);
}

TEST_CASE("tick pacing sleeps to the tick after the due time and then hands out all that is due") {
    Offer offer(kSchedule, 2000, Pacing::tick);
    REQUIRE(offer.wait_until(kSchedule.start_ns) == kSchedule.start_ns + kMillisecond);
    const auto tick = kSchedule.start_ns + kMillisecond;
    REQUIRE(offer.wait_until(tick) == 0); // due at 0.5 ms
    REQUIRE(offer.take() == 0);
    REQUIRE(offer.wait_until(tick) == 0); // due at 1.0 ms
    REQUIRE(offer.take() == 1);
    REQUIRE(offer.wait_until(tick) == tick + kMillisecond);
}

TEST_CASE("each pacing sleeps to the message's own due time") {
    Offer offer(kSchedule, 2000, Pacing::each);
    REQUIRE(offer.wait_until(kSchedule.start_ns) == kSchedule.start_ns + 500'000);
}

TEST_CASE("the last message of the window is not pushed past its end by the tick") {
    Offer offer(kSchedule, 2000, Pacing::tick);
    const std::uint64_t all =
        2000 * 5 / 2; // 2.5 s of warm-up and window; the last is due at its end
    while (offer.next_sequence() < all - 2)
        (void)offer.take();
    const auto due = offer.due_ns(offer.next_sequence());
    REQUIRE(due < kSchedule.window_end());
    REQUIRE(offer.wait_until(due - 1) == due);
}

TEST_CASE("a late sender meets its whole backlog without waiting") {
    Offer offer(kSchedule, 1000, Pacing::tick);
    const auto now = kSchedule.start_ns + 100 * kMillisecond;
    int handed_out = 0;
    while (offer.wait_until(now) == 0) {
        (void)offer.take();
        ++handed_out;
    }
    REQUIRE(handed_out == 100);
}

TEST_CASE("messages due between two instants are counted, the end exclusive") {
    const Offer offer(kSchedule, 2000, Pacing::tick);
    REQUIRE(offer.due_between(kSchedule.window_start(), kSchedule.window_end()) == 4000);
    REQUIRE(offer.due_between(kSchedule.start_ns, kSchedule.start_ns + 500'000) == 0);
    REQUIRE(offer.due_between(kSchedule.start_ns, kSchedule.start_ns + 500'001) == 1);
    REQUIRE(Offer(kSchedule, std::nullopt, Pacing::tick).due_between(0, kSecond) == 0);
}

TEST_CASE("counting due messages agrees with walking the grid, for awkward rates") {
    for (const double rate : {0.3, 1.0, 7.0, 333.3, 1e6}) {
        const Offer offer(kSchedule, rate, Pacing::each);
        std::uint64_t walked = 0;
        for (std::uint64_t n = 0; offer.due_ns(n) < kSchedule.window_end(); ++n)
            walked += offer.due_ns(n) >= kSchedule.window_start();
        REQUIRE(offer.due_between(kSchedule.window_start(), kSchedule.window_end()) == walked);
    }
}
