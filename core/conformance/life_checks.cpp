// Checks of a driver's life: create, connect, the drive loop without messages, disconnect.

#include "conformance/exchange.hpp"

#include <fmt/format.h>

namespace mqcore::conformance {
namespace {

using support::kMillisecond;
using support::now_ns;

constexpr const char* kFilter = "mqcore/check/#";

Verdict pass() { return {}; }
Verdict fail(std::string detail) { return {Outcome::fail, std::move(detail)}; }
Verdict skip(std::string detail) { return {Outcome::skipped, std::move(detail)}; }

std::vector<measure::Protocol> protocols_of(const Bench& bench) {
    std::vector<measure::Protocol> protocols;
    if (bench.claims().protocols & MQCORE_V311)
        protocols.push_back(measure::Protocol::v311);
    if (bench.claims().protocols & MQCORE_V5)
        protocols.push_back(measure::Protocol::v5);
    return protocols;
}

bool has_network(const Bench& bench) { return !bench.subject().descriptor.is_harness_floor; }

// Subscribes at the highest QoS that is claimed; publishes nothing.
measure::WorkerSpec idle_spec(const Bench& bench, measure::Protocol protocol, std::uint16_t port) {
    measure::WorkerSpec spec = bench.specification(protocol, port);
    if (bench.claims().subscribe_qos)
        spec.receive = measure::ReceiveSpec{.filters = {kFilter},
                                            .qos = highest_qos(bench.claims().subscribe_qos),
                                            .tag = 1,
                                            .payload_bytes = {64},
                                            .rate = std::nullopt};
    return spec;
}

// A connected driver, with a server unless it is a null client.
struct Connected {
    std::optional<Server> server;
    std::unique_ptr<Trial> trial;
    Step step;

    Connected(Bench& bench, measure::Protocol protocol,
              const measure::ServerBehaviour& behaviour = {}) {
        if (has_network(bench))
            server.emplace(bench, behaviour);
        trial = std::make_unique<Trial>(bench);
        const std::uint16_t port = server ? server->port() : closed_port(bench);
        step = trial->reach_connected(idle_spec(bench, protocol, port));
    }
};

Verdict create_destroy(Bench& bench) {
    Trial trial(bench);
    const measure::WorkerSpec spec =
        bench.specification(protocols_of(bench).front(), closed_port(bench));
    if (const Step step = trial.prepare(spec); !step)
        return verdict_of(*step.trouble);
    if (const Step step = trial.finish(); !step)
        return verdict_of(*step.trouble);
    return pass();
}

Verdict creates_again(Bench& bench) {
    Trial trial(bench);
    const measure::WorkerSpec spec =
        bench.specification(protocols_of(bench).front(), closed_port(bench));
    for (const char* const time : {"the first time", "the second time"}) {
        Step step = trial.prepare(spec);
        if (step)
            step = trial.leave(true);
        if (!step)
            return {step.trouble->outcome, fmt::format("{}: {}", time, step.trouble->text)};
    }
    return pass();
}

Verdict destroys_unconnected(Bench& bench) {
    Trial trial(bench);
    Step step = trial.prepare(bench.specification(protocols_of(bench).front(), closed_port(bench)));
    if (!step)
        return verdict_of(*step.trouble);
    // A null client connects to nobody, and leaves like any other.
    if (step = trial.try_connect(); !step && step.trouble->outcome != Outcome::fail)
        return verdict_of(*step.trouble);
    step = trial.leave(true);
    return step ? pass() : verdict_of(*step.trouble);
}

Verdict connects_again(Bench& bench) {
    Connected connected(bench, protocols_of(bench).front());
    Step step = std::move(connected.step);
    for (const char* const time : {"the first time", "the second time"}) {
        if (step)
            step = connected.trial->drive(schedule_from_now(20 * kMillisecond, 0));
        if (step)
            step = connected.trial->leave(false);
        if (!step)
            return {step.trouble->outcome, fmt::format("{}: {}", time, step.trouble->text)};
        if (time == std::string_view("the first time"))
            step = connected.trial->connect();
    }
    if (!connected.server)
        return pass();
    std::size_t connections = 0;
    if (const Json all = connected.server->connections(); all.is_array())
        connections = all.get_array().size();
    return connections == 2 ? pass()
                            : fail(fmt::format("the server had {} connections of the two connect()",
                                               connections));
}

Verdict connects(Bench& bench) {
    for (const measure::Protocol protocol : protocols_of(bench)) {
        Connected connected(bench, protocol);
        const std::string before = fmt::format("MQTT {}: ", name_of(protocol));
        if (!connected.step)
            return {connected.step.trouble->outcome, before + connected.step.trouble->text};
        if (!connected.server)
            continue;
        const Json served = connected.server->connection("mqcore-check");
        if (served.is_null())
            return fail(before + "the server has no connection of the client id it was given");
        if (const auto spoken = support::text_or(served, "protocol", "");
            spoken != name_of(protocol))
            return fail(before + fmt::format("the server was spoken to in MQTT {}", spoken));
        // Over MQTT 5 no session is left, either, where each ends with its connection.
        const bool leaves_no_session = protocol == measure::Protocol::v5 &&
                                       support::integer_or(served, "session_expiry_s", -1) == 0;
        if (!support::boolean_or(served, "clean", false) && !leaves_no_session)
            return fail(before + "it asked for an old session: a run starts clean");
        const Json* subscriptions = support::find(served, "subscriptions");
        const std::size_t subscribed =
            subscriptions && subscriptions->is_array() ? subscriptions->get_array().size() : 0;
        if (bench.claims().subscribe_qos && subscribed != 1)
            return fail(before + "connect() returned before the subscription was confirmed");
    }
    return pass();
}

// connect() must fail, with that status; an empty status: any.
Verdict must_refuse(Bench& bench, measure::ServerBehaviour behaviour, std::string_view status,
                    std::string_view what) {
    for (const measure::Protocol protocol : protocols_of(bench)) {
        // "Not authorized": a library may take a code that its protocol does not have for no CONNACK at all.
        behaviour.connack_code = protocol == measure::Protocol::v5 ? 0x87 : 5;
        const Connected connected(bench, protocol, behaviour);
        const std::string before = fmt::format("MQTT {}: ", name_of(protocol));
        if (connected.step)
            return fail(before + fmt::format("connect() succeeded although {}", what));
        const Trouble& trouble = *connected.step.trouble;
        if (trouble.outcome != Outcome::fail)
            return {trouble.outcome, before + trouble.text};
        if (!status.empty() && trouble.status != status)
            return fail(before + fmt::format("{}: the status is '{}' ({}), '{}' is right", what,
                                             trouble.status, trouble.text, status));
    }
    return pass();
}

Verdict refused_port_is_error(Bench& bench) {
    for (const measure::Protocol protocol : protocols_of(bench)) {
        Trial trial(bench);
        measure::WorkerSpec spec = bench.specification(protocol, closed_port(bench));
        const Step step = trial.reach_connected(spec);
        if (step)
            return fail(fmt::format("MQTT {}: connect() succeeded on a port where nobody listens",
                                    name_of(protocol)));
        if (step.trouble->outcome != Outcome::fail)
            return verdict_of(*step.trouble);
        if (step.trouble->status != "network")
            return fail(fmt::format("the status is '{}' ({}), 'network' is right",
                                    step.trouble->status, step.trouble->text));
    }
    return pass();
}

Verdict refused_connect_is_error(Bench& bench) {
    return must_refuse(bench, {.connack = measure::ConnackAnswer::refuse}, "network",
                       "the server refused the connection");
}

Verdict refused_subscription_is_error(Bench& bench) {
    if (!bench.claims().subscribe_qos)
        return skip("it does not claim to subscribe");
    return must_refuse(bench, {.suback = measure::SubackAnswer::refuse}, {},
                       "the server refused the subscription");
}

Verdict lower_qos_is_unsupported(Bench& bench) {
    if (highest_qos(bench.claims().subscribe_qos) == 0)
        return skip("it does not claim to subscribe above QoS 0");
    return must_refuse(bench, {.suback = measure::SubackAnswer::lower}, "unsupported",
                       "the server granted a lower QoS than was asked for");
}

Verdict unknown_option_is_error(Bench& bench) {
    std::optional<Server> server;
    if (has_network(bench))
        server.emplace(bench);
    Trial trial(bench);
    measure::WorkerSpec spec = bench.specification(protocols_of(bench).front(),
                                                   server ? server->port() : closed_port(bench));
    spec.options = {{"an-option-that-nobody-has", "1"}};
    const Step step = trial.reach_connected(spec);
    if (step)
        return fail("connect() succeeded with an option that the driver does not know");
    if (step.trouble->outcome != Outcome::fail)
        return verdict_of(*step.trouble);
    if (step.trouble->status != "config")
        return fail(fmt::format("the status is '{}' ({}), 'config' is right", step.trouble->status,
                                step.trouble->text));
    return pass();
}

Verdict stop_at_once(Bench& bench) {
    Connected connected(bench, protocols_of(bench).front());
    if (!connected.step)
        return verdict_of(*connected.step.trouble);
    const Step step = connected.trial->drive({.start_ns = now_ns() - kMillisecond});
    if (!step)
        return verdict_of(*step.trouble);
    return pass();
}

// The loop through all answers, without a message: WAIT, DRAIN, STOP.
Step idle_loop(Bench& bench, measure::Schedule& schedule) {
    Connected connected(bench, protocols_of(bench).front());
    if (!connected.step)
        return std::move(connected.step);
    schedule = schedule_from_now(100 * kMillisecond, 100 * kMillisecond);
    return connected.trial->drive(schedule);
}

Verdict returns_only_after_stop(Bench& bench) {
    measure::Schedule schedule;
    const Step step = idle_loop(bench, schedule);
    if (const std::string breach = step.misuse("returned-without-stop"); !breach.empty())
        return fail(breach);
    return step ? pass() : verdict_of(*step.trouble);
}

Verdict no_misuse(Bench& bench, std::string_view rule) {
    measure::Schedule schedule;
    const Step step = idle_loop(bench, schedule);
    const std::string breach = step.misuse(rule);
    return breach.empty() ? pass() : fail(breach);
}

Verdict no_next_after_stop(Bench& bench) { return no_misuse(bench, "next-after-stop"); }
Verdict next_on_drive_thread_only(Bench& bench) {
    return no_misuse(bench, "next-off-drive-thread");
}

// A loop that waits asks again when it is told to, or a few times in between: one that spins asks
// thousands of times, and what it burns would be billed to the client.
Verdict wait_not_spun(Bench& bench) {
    constexpr std::uint64_t kMostAMillisecond = 4;
    measure::Schedule schedule;
    const Step step = idle_loop(bench, schedule);
    if (!step)
        return verdict_of(*step.trouble);
    const Json* conduct = support::find(step.event, "conduct");
    const std::uint64_t asked = conduct ? support::unsigned_or(*conduct, "asked_in_vain", 0) : 0;
    const std::uint64_t span_ms = (schedule.end() - schedule.start_ns) / kMillisecond;
    return asked <= kMostAMillisecond * span_ms
               ? pass()
               : fail(
                     fmt::format("next() was asked {} times in {} ms in which there was nothing to "
                                 "do: wait until wake_ns",
                                 asked, span_ms));
}

Verdict disconnects(Bench& bench) {
    Verdict worst;
    for (const measure::Protocol protocol : protocols_of(bench)) {
        Connected connected(bench, protocol);
        Step step = std::move(connected.step);
        if (step)
            step = connected.trial->drive(schedule_from_now(20 * kMillisecond, 0));
        if (step)
            step = connected.trial->finish();
        if (!step)
            return verdict_of(*step.trouble);
        if (!connected.server)
            continue;
        const Json served = connected.server->connection("mqcore-check");
        const Json* packets = support::find(served, "packets");
        if (!packets || !support::find(*packets, "DISCONNECT"))
            worst = {Outcome::warning, "the connection was closed without a DISCONNECT packet"};
    }
    return worst;
}

constexpr Check kChecks[] = {
    {"life", "create-destroy", "create() and destroy() work without a connection", "info-valid",
     Place::worker, create_destroy},
    {"life", "creates-again", "create() and destroy() work a second time", "create-destroy",
     Place::worker, creates_again},
    {"life", "connects",
     "connect() returns with clean, confirmed connections of every claimed protocol",
     "create-destroy", Place::worker, connects},
    {"life", "refused-port-is-error", "connect() fails with MQCORE_NETWORK on a closed port",
     "connects", Place::network, refused_port_is_error},
    {"life", "refused-connect-is-error", "connect() fails with MQCORE_NETWORK when CONNACK refuses",
     "connects", Place::network, refused_connect_is_error},
    {"life", "refused-subscription-is-error", "connect() fails when SUBACK refuses a filter",
     "connects", Place::network, refused_subscription_is_error},
    {"life", "lower-qos-is-unsupported",
     "connect() fails with MQCORE_UNSUPPORTED when SUBACK grants less", "connects", Place::network,
     lower_qos_is_unsupported},
    {"life", "unknown-option-is-error", "an option that the driver does not know is MQCORE_CONFIG",
     "connects", Place::worker, unknown_option_is_error},
    {"life", "destroys-unconnected", "destroy() works after a connect() that failed", "connects",
     Place::worker, destroys_unconnected},
    {"source", "stop-at-once", "drive() returns when the first answer is STOP", "connects",
     Place::worker, stop_at_once},
    {"source", "returns-only-after-stop",
     "drive() goes on through WAIT and DRAIN and returns at STOP", "stop-at-once", Place::worker,
     returns_only_after_stop},
    {"source", "no-next-after-stop", "next() is not called again after STOP", "stop-at-once",
     Place::worker, no_next_after_stop},
    {"source", "next-on-drive-thread-only", "next() is called on the thread of drive() alone",
     "stop-at-once", Place::worker, next_on_drive_thread_only},
    {"source", "wait-not-spun", "drive() waits where there is nothing to do, and does not spin",
     "returns-only-after-stop", Place::worker, wait_not_spun},
    {"life", "disconnects", "disconnect() and destroy() return, and the server is told",
     "returns-only-after-stop", Place::worker, disconnects},
    {"life", "connects-again", "connect() works again after disconnect()", "disconnects",
     Place::worker, connects_again},
};

} // namespace

std::span<const Check> life_checks() { return kChecks; }

} // namespace mqcore::conformance
