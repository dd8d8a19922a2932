#include "session/run_document.hpp"

#include <fmt/format.h>

namespace mqcore::session {
namespace {

using support::JsonObject;

constexpr struct {
    const char* name;    // in the run document
    const char* counter; // below $SYS/broker/
} kCounters[] = {
    {"publish_received", "publish/messages/received"},
    {"publish_sent", "publish/messages/sent"},
    {"publish_dropped", "publish/messages/dropped"},
    {"messages_received", "messages/received"},
    {"messages_sent", "messages/sent"},
    {"bytes_received", "bytes/received"},
    {"bytes_sent", "bytes/sent"},
};

Json to_json(const SystemCalls& counted) {
    return JsonObject{
        {"calls", counted.calls}, {"bytes", counted.bytes}, {"span_ns", counted.span_ns}};
}

bool has_both(const BrokerDelta& delta) {
    return delta.before && delta.after && delta.before->is_fresh && delta.after->is_fresh;
}

// The change of a counter, or why there is none.
struct Change {
    std::optional<std::uint64_t> count;
    std::string why;
};
Change change_of(const BrokerDelta& delta, const char* counter) {
    if (!has_both(delta))
        return {.count = {}, .why = delta.why_missing};
    const Json &from = delta.before->counters, &to = delta.after->counters;
    if (!support::find(from, counter) || !support::find(to, counter))
        return {.count = {},
                .why = fmt::format("the broker does not publish $SYS/broker/{}", counter)};
    const std::uint64_t start = support::unsigned_or(from, counter, 0);
    const std::uint64_t end = support::unsigned_or(to, counter, 0);
    if (end < start)
        return {.count = {}, .why = "the counter went back: the broker was started anew"};
    return {.count = end - start, .why = {}};
}

// What every party has, and what is looked at of the client alone.
Json client_json(const Resources& resources) {
    Json document = machine::to_json(resources.client);
    JsonObject& client = document.as_object();
    JsonObject unavailable = std::move(client["unavailable"].as_object());
    const auto put = [&](const char* name, const auto& result) {
        client[name] = result ? to_json(*result) : Json(nullptr);
        if (!result)
            unavailable[name] = support::one_line(result.error());
    };
    for (const machine::EventKind& kind : machine::hardware_events())
        client[kind.name] = nullptr;
    for (const auto& [name, count] : resources.events.counts)
        client[name] = count;
    for (const auto& [name, why] : resources.events.unavailable)
        unavailable[name] = why;
    client["events_share"] = resources.events.share ? Json(*resources.events.share) : Json(nullptr);
    put("tcp", resources.tcp);
    put("system_calls", resources.system_calls);
    client["unavailable"] = std::move(unavailable);
    return document;
}

} // namespace

Json to_json(const Failure& failure) {
    return JsonObject{{"party", failure.party},
                      {"phase", failure.phase},
                      {"status", failure.status},
                      {"reason", without_personal_paths(failure.reason)}};
}

JsonObject broker_json(const BrokerWitness& witness, const BrokerDelta& delta) {
    JsonObject changes, unavailable;
    for (const auto& [name, counter] : kCounters) {
        const Change change = change_of(delta, counter);
        changes[name] = change.count ? Json(*change.count) : Json(nullptr);
        if (!change.count)
            unavailable[name] = change.why;
    }
    return {{"witness", to_json(witness)},
            {"fresh", has_both(delta)},
            {"delta", std::move(changes)},
            {"control_packets", delta.control_packets},
            {"unavailable", std::move(unavailable)}};
}

Json last_counters(const measure::ControlPage& page) {
    const auto phase = static_cast<measure::WorkerPhase>(page.phase.load());
    return JsonObject{{"phase", measure::name_of(phase)},
                      {"sent", page.sent.load()},
                      {"completed", page.completed()},
                      {"failed", page.failed()},
                      {"received", page.received.load()}};
}

Resources unavailable_resources(const std::string& reason) {
    const machine::ProcessUse none = machine::unavailable_use(reason);
    const support::Error error{support::ErrorCode::host, reason, {}};
    Resources resources{.client = none,
                        .peer = none,
                        .broker = none,
                        .host = {},
                        .condition = {},
                        .cpu_series = nullptr,
                        .events = machine::unavailable_events(machine::hardware_events(), reason),
                        .tcp = error,
                        .system_calls = error};
    for (const char* name : {"other_busy_cores", "kernel_busy_cores", "cpus", "condition"})
        resources.host.unavailable[name] = reason;
    return resources;
}

Json to_json(const Resources& resources) {
    Json host = machine::to_json(resources.host);
    host.as_object()["condition"] =
        resources.condition ? machine::to_json(*resources.condition) : Json(nullptr);
    return JsonObject{{"client", client_json(resources)},
                      {"peer", machine::to_json(resources.peer)},
                      {"broker", machine::to_json(resources.broker)},
                      {"host", std::move(host)},
                      {"series", resources.cpu_series}};
}

} // namespace mqcore::session
