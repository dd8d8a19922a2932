// Checks of claims that not every driver makes: a bit of mqcore_info.features counts only when it has
// been exercised end to end.

#include "conformance/exchange.hpp"
#include "session/broker.hpp"
#include "session/tls_material.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mqcore::conformance {
namespace {

using support::kMillisecond;

Verdict pass() { return {}; }
Verdict fail(std::string detail) { return {Outcome::fail, std::move(detail)}; }

std::uint64_t number(const Json& json, std::string_view key) {
    return support::unsigned_or(json, key, 0);
}

Json part(const Json& json, std::string_view key) {
    const Json* found = support::find(json, key);
    return found ? *found : Json(nullptr);
}

bool has_claim(const Bench& bench, std::uint32_t feature) {
    return bench.claims().features & feature;
}

Verdict not_claimed(std::uint32_t feature) {
    return {Outcome::skipped,
            fmt::format("it does not claim '{}'", driver::names_of_features(feature).front())};
}

Verdict many_connections(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_MANY_CONNECTIONS))
        return not_claimed(MQCORE_FEATURE_MANY_CONNECTIONS);
    constexpr std::uint32_t kConnections = 3;
    Traffic traffic;
    traffic.connections = kConnections;
    return judge_each(
        bench, publish_combinations(bench.claims()), traffic,
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            for (std::uint32_t index = 0; index < kConnections; ++index) {
                const std::string id =
                    index == 0 ? "mqcore-check" : fmt::format("mqcore-check-{}", index);
                const std::uint64_t due =
                    (exchange.sent() + kConnections - 1 - index) / kConnections;
                std::uint64_t found = 0;
                for (const Json& connection : exchange.all_served.get_array())
                    if (support::text_or(connection, "client_id", "") == id)
                        found = number(part(connection, "packets"), "PUBLISH");
                if (found != due)
                    return fail(fmt::format("connection '{}' carried {} messages, {} were for it",
                                            id, found, due));
            }
            return pass();
        }),
        "it does not claim to publish");
}

Verdict receive_maximum(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_RECEIVE_MAXIMUM))
        return not_claimed(MQCORE_FEATURE_RECEIVE_MAXIMUM);
    constexpr std::uint16_t kAsked = 7;
    Server server(bench);
    Trial trial(bench);
    measure::WorkerSpec spec = bench.specification(measure::Protocol::v5, server.port());
    spec.endpoint.receive_maximum = kAsked;
    if (const Step step = trial.reach_connected(spec); !step)
        return verdict_of(*step.trouble);
    const std::uint64_t told =
        number(server.connection(spec.endpoint.client_id), "receive_maximum");
    return told == kAsked
               ? pass()
               : fail(fmt::format("CONNECT carries a Receive Maximum of {}, {} was asked for", told,
                                  kAsked));
}

// Without a claim an index would be a guess: the library itself has to dispatch by filter.
Verdict no_filter_index(Bench& bench) {
    return judge_each(
        bench, subscribe_combinations(bench.claims()), {},
        received([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t total = number(exchange.arrivals(), "total");
            const std::uint64_t without = number(exchange.arrivals(), "catch_all");
            return without == total
                       ? pass()
                       : fail(fmt::format(
                             "{} of {} messages came with the index of a filter, and it "
                             "does not claim 'filter-callbacks'",
                             total - without, total));
        }),
        "it does not claim to subscribe");
}

Verdict filter_index_right(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_FILTER_CALLBACKS))
        return no_filter_index(bench);
    Traffic traffic;
    traffic.topics = {"mqcore/check/a", "mqcore/check/b/c"};
    traffic.filters = {"mqcore/check/a", "mqcore/check/b/#"};
    return judge_each(
        bench, subscribe_combinations(bench.claims()), traffic,
        received([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t sent = number(part(exchange.neighbour, "send"), "sent");
            const Json by_filter = part(exchange.arrivals(), "by_filter");
            const std::uint64_t first = number(by_filter, "0"), second = number(by_filter, "1");
            if (first != (sent + 1) / 2 || second != sent / 2)
                return fail(fmt::format("{} and {} of {} messages came by the first and the second "
                                        "filter, each in turn was for one of them",
                                        first, second, sent));
            return pass();
        }),
        "it does not claim to subscribe");
}

std::vector<Combination> v5_publish_combinations(const driver::Claims& claims) {
    driver::Claims only = claims;
    only.protocols &= MQCORE_V5;
    return publish_combinations(only);
}

Verdict publish_properties(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_PUBLISH_PROPERTIES))
        return not_claimed(MQCORE_FEATURE_PUBLISH_PROPERTIES);
    Traffic traffic;
    traffic.properties = {.content_type = "application/json",
                          .response_topic = "mqcore/check/answers",
                          .correlation_data = "17",
                          .user = {{"unit", "kelvin"}, {"unit", "again"}}};
    return judge_each(
        bench, v5_publish_combinations(bench.claims()), traffic,
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t found = number(exchange.arrivals(), "with_properties");
            return found == exchange.sent()
                       ? pass()
                       : fail(fmt::format("{} of {} messages carried the properties that the run "
                                          "asks for",
                                          found, exchange.sent()));
        }),
        "it does not claim to publish over MQTT 5");
}

Verdict topic_alias(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_TOPIC_ALIAS))
        return not_claimed(MQCORE_FEATURE_TOPIC_ALIAS);
    Traffic traffic;
    traffic.topic_alias = 1;
    return judge_each(
        bench, v5_publish_combinations(bench.claims()), traffic,
        published([](const Exchange& exchange, const Traffic&) -> Verdict {
            const std::uint64_t found = number(exchange.served, "with_topic_alias");
            const std::uint64_t empty = number(exchange.served, "with_empty_topic");
            if (found == exchange.sent() && empty + 1 == exchange.sent())
                return pass();
            return fail(fmt::format("of {} messages {} carried the alias and {} an empty topic: "
                                    "each has the alias, and all but the first an empty topic",
                                    exchange.sent(), found, empty));
        }),
        "it does not claim to publish over MQTT 5");
}

// One TLS connection; nothing: it works.
std::optional<Trouble> use_tls(Bench& bench, measure::Protocol protocol, const std::string& host,
                               std::uint16_t port, const std::string& ca_file) {
    Trial trial(bench);
    measure::WorkerSpec spec = bench.specification(protocol, port);
    spec.endpoint.host = host;
    spec.endpoint.ca_file = ca_file;
    Step step = trial.reach_connected(spec);
    if (step)
        step = trial.drive(schedule_from_now(20 * kMillisecond, 0));
    return step.trouble;
}

Verdict tls_verified(Bench& bench) {
    if (!has_claim(bench, MQCORE_FEATURE_TLS))
        return not_claimed(MQCORE_FEATURE_TLS);
    auto broker = session::start_managed_broker(
        bench.supervisor(), {.cpus = {}, .log_file = bench.folder() / "broker.log"});
    if (!broker)
        return {Outcome::skipped,
                "TLS is checked with Mosquitto: " + support::one_line(broker.error())};
    const std::filesystem::path elsewhere = bench.folder() / "another-authority";
    std::filesystem::create_directories(elsewhere);
    const auto foreign = session::make_tls_material(elsewhere);
    const auto tls = (*broker)->tls();
    const auto plain = (*broker)->plain();
    if (!foreign || !tls || !plain)
        return {Outcome::skipped, "no TLS material could be made"};

    for (const auto& [bit, protocol] :
         {std::pair{MQCORE_V311, measure::Protocol::v311}, {MQCORE_V5, measure::Protocol::v5}}) {
        if (!(bench.claims().protocols & static_cast<std::uint32_t>(bit)))
            continue;
        const std::string before = fmt::format("MQTT {}: ", name_of(protocol));
        if (const auto trouble = use_tls(bench, protocol, tls->host, tls->port, tls->ca_file))
            return {trouble->outcome, before + trouble->text};
        const struct {
            std::uint16_t port;
            std::string ca_file;
            const char* what;
        } must_fail[] = {{tls->port, foreign->ca_file.string(),
                          "the server's certificate is not signed by ca_file"},
                         {plain->port, tls->ca_file, "the server does not speak TLS"}};
        for (const auto& each : must_fail) {
            const auto trouble = use_tls(bench, protocol, tls->host, each.port, each.ca_file);
            if (!trouble)
                return fail(before + fmt::format("connect() succeeded although {}", each.what));
            if (trouble->outcome != Outcome::fail)
                return {trouble->outcome, before + trouble->text};
        }
    }
    return pass();
}

// mqcore refuses what is not claimed before it starts anything. A driver that would take it all the same
// would measure something else than was asked for, the day that its driver.toml says too much.
Verdict unclaimed_is_unsupported(Bench& bench) {
    const driver::Claims& claims = bench.claims();
    const measure::Protocol spoken =
        claims.protocols & MQCORE_V5 ? measure::Protocol::v5 : measure::Protocol::v311;
    const bool has_v5 = claims.protocols & MQCORE_V5;
    const std::uint32_t publish_qos = highest_qos(claims.publish_qos);
    const measure::SendSpec send{.topics = {"mqcore/check/a"},
                                 .payload_bytes = {64},
                                 .qos = publish_qos,
                                 .rate = {},
                                 .tag = 1};
    struct Unclaimed {
        std::string what;
        bool is_asked;
        std::function<void(measure::WorkerSpec&)> ask;
    };
    const Unclaimed all[] = {
        {"MQTT 3.1.1", !(claims.protocols & MQCORE_V311),
         [](auto& spec) { spec.endpoint.protocol = measure::Protocol::v311; }},
        {"MQTT 5", !has_v5, [](auto& spec) { spec.endpoint.protocol = measure::Protocol::v5; }},
        {"'tls'", !has_claim(bench, MQCORE_FEATURE_TLS),
         [](auto& spec) { spec.endpoint.ca_file = "/nobody/asked/for/this.pem"; }},
        {"a subscription at QoS 2",
         claims.subscribe_qos != 0 && !(claims.subscribe_qos & MQCORE_QOS2),
         [](auto& spec) {
             spec.receive = measure::ReceiveSpec{.filters = {"mqcore/check/#"},
                                                 .qos = 2,
                                                 .tag = 1,
                                                 .payload_bytes = {64},
                                                 .rate = std::nullopt};
         }},
        {"'many-connections'", !has_claim(bench, MQCORE_FEATURE_MANY_CONNECTIONS),
         [](auto& spec) { spec.connections = 2; }},
        {"'receive-maximum'", has_v5 && !has_claim(bench, MQCORE_FEATURE_RECEIVE_MAXIMUM),
         [](auto& spec) { spec.endpoint.receive_maximum = 7; }},
        {"'publish-properties'",
         has_v5 && claims.publish_qos && !has_claim(bench, MQCORE_FEATURE_PUBLISH_PROPERTIES),
         [&](auto& spec) {
             spec.send = send;
             spec.send->properties.content_type = "text/plain";
         }},
        {"'topic-alias'",
         has_v5 && claims.publish_qos && !has_claim(bench, MQCORE_FEATURE_TOPIC_ALIAS),
         [&](auto& spec) {
             spec.send = send;
             spec.send->topic_alias = 1;
         }},
    };
    std::vector<std::string> taken;
    for (const Unclaimed& each : all) {
        if (!each.is_asked)
            continue;
        Server server(bench);
        Trial trial(bench);
        measure::WorkerSpec spec = bench.specification(spoken, server.port());
        each.ask(spec);
        const Step step = trial.reach_connected(spec);
        if (bench.broken())
            return pass();
        if (!step && step.trouble->outcome != Outcome::fail)
            return {step.trouble->outcome, each.what + ": " + step.trouble->text};
        if (step)
            taken.push_back(each.what);
        else if (step.trouble->status != "unsupported")
            taken.push_back(
                fmt::format("{} (the status is '{}')", each.what, step.trouble->status));
    }
    return taken.empty()
               ? pass()
               : Verdict{Outcome::warning,
                         fmt::format("connect() does not refuse with MQCORE_UNSUPPORTED what "
                                     "it does not claim: {}",
                                     fmt::join(taken, ", "))};
}

Verdict claims_exercised(Bench& bench) {
    constexpr std::uint32_t kExercised =
        MQCORE_FEATURE_TLS | MQCORE_FEATURE_FILTER_CALLBACKS | MQCORE_FEATURE_PUBLISH_PROPERTIES |
        MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM |
        MQCORE_FEATURE_MANY_CONNECTIONS;
    const auto left = driver::names_of_features(bench.claims().features & ~kExercised);
    if (left.empty())
        return pass();
    return {Outcome::warning,
            fmt::format("this mqcore has no check for: {}", fmt::join(left, ", "))};
}

constexpr Check kChecks[] = {
    {"claims", "many-connections", "each message goes out on the connection it names",
     "publishes-all", Place::network, many_connections},
    {"claims", "receive-maximum", "CONNECT carries the Receive Maximum that the run asks for",
     "connects", Place::network, receive_maximum},
    {"sink", "filter-index-right",
     "each arrival comes with the index of its filter, or with none where that is not claimed",
     "receives-all", Place::network, filter_index_right},
    {"claims", "publish-properties", "each message carries the MQTT 5 properties of the run",
     "publishes-all", Place::network, publish_properties},
    {"claims", "topic-alias", "the topic goes out once, then its alias with an empty topic",
     "publishes-all", Place::network, topic_alias},
    {"claims", "tls-verified", "TLS works, and only with a certificate that ca_file vouches for",
     "connects", Place::network, tls_verified},
    {"claims", "unclaimed-is-unsupported",
     "connect() refuses what is not claimed with MQCORE_UNSUPPORTED", "connects", Place::network,
     unclaimed_is_unsupported},
    {"claims", "claims-exercised", "every claimed feature has a check", "info-valid", Place::worker,
     claims_exercised},
};

} // namespace

std::span<const Check> claim_checks() { return kChecks; }

} // namespace mqcore::conformance
