#include "verdict/view.hpp"

#include "mqcore/driver.h"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using support::Json;

SendView send_view(Node node) {
    return {.sent = node.count("sent"),
            .sent_window = node.count("sent_window"),
            .completed = node.count("completed"),
            .completed_window = node.count("completed_window"),
            .failed = node.count("failed"),
            .unfinished = node.count("unfinished"),
            .due_in_window = node.count("due_in_window"),
            .never_sent = node.count("never_sent"),
            .slept = node.count("slept"),
            .window_full = node.count("window_full"),
            .raw = node};
}

ReceiveView receive_view(Node node) {
    const Node ledger = node["ledger"];
    return {.total = node.count("total"),
            .window = node.count("window"),
            .drain = node.count("drain"),
            .stray = node.count("stray"),
            .damaged = node.count("damaged"),
            .first_damaged_bytes = node.count("first_damaged_bytes"),
            .impossible_latency = node.count("impossible_latency"),
            .distinct = ledger.count("distinct"),
            .duplicates = ledger.count("duplicates"),
            .reordered = ledger.count("reordered"),
            .beyond = ledger.count("beyond"),
            .frontier = ledger.count("frontier"),
            .lost_below_frontier = ledger.count("lost_below_frontier"),
            .first_lost = ledger.counts("first_lost"),
            .first_duplicates = ledger.counts("first_duplicates"),
            .dup_flagged = node.count("dup_flagged"),
            .retained = node.count("retained"),
            .before_drive = node.count("before_drive"),
            .qos2_repeated = node.count("qos2_repeated"),
            .with_properties = node.count("with_properties"),
            .with_empty_topic = node.count("with_empty_topic"),
            .catch_all = node.count("catch_all"),
            .misdirected = node.count("misdirected"),
            .receive_maximum_exceeded = node.count("receive_maximum_exceeded"),
            .raw = node};
}

PartyView party_view(Node node) {
    const Node report = node["report"];
    PartyView party;
    party.has_report = static_cast<bool>(report);
    party.raw = node;
    if (const Node send = report["send"])
        party.send = send_view(send);
    if (const Node receive = report["receive"])
        party.receive = receive_view(receive);
    party.unexpected = report.count("unexpected").value_or(0);
    return party;
}

ResourceView resource_view(Node node) {
    return {.span_ns = node.count("span_ns"),
            .cpu_total_ns = node.count("cpu_ns"),
            .cpu_user_ns = node.count("cpu_user_ns"),
            .cpu_sys_ns = node.count("cpu_sys_ns"),
            .rss_peak_kib = node.count("rss_peak_kib"),
            .threads = node.count("threads"),
            .voluntary_switches = node.count("voluntary_switches"),
            .involuntary_switches = node.count("involuntary_switches"),
            .user_instructions = node.count("user_instructions"),
            .kernel_instructions = node.count("kernel_instructions"),
            .user_cycles = node.count("user_cycles"),
            .kernel_cycles = node.count("kernel_cycles"),
            .tcp = node["tcp"],
            .system_calls = node["system_calls"],
            .raw = node};
}

// One length, or one for each message of a round.
std::vector<std::uint32_t> payload_lengths(Node spec) {
    if (const Count only = spec.count("payload_bytes"))
        return {static_cast<std::uint32_t>(*only)};
    std::vector<std::uint32_t> lengths;
    for (const std::uint64_t bytes : spec.counts("payload_bytes"))
        lengths.push_back(static_cast<std::uint32_t>(bytes));
    return lengths;
}

std::uint32_t features_of(Node spec) {
    const Node properties = spec["properties"];
    bool has_properties = false;
    for (const char* key : {"content_type", "response_topic", "correlation_data"})
        has_properties |= !properties.text(key).empty();
    const Node user = properties["user"];
    has_properties |= user && user.json()->is_array() && !user.json()->get_array().empty();
    const auto bit = [](Feature feature, bool is_there) {
        return is_there ? 1u << static_cast<unsigned>(feature) : 0u;
    };
    return bit(Feature::filters, spec.count("filters").value_or(1) > 1) |
           bit(Feature::properties, has_properties) |
           bit(Feature::topic_alias, spec.boolean("topic_alias").value_or(false));
}

// The driver's own claim, as the worker read it from the loaded library.
std::string qos0_completion_of(Node driver) {
    const Count bits = driver.count("qos0_completion");
    return bits ? std::string(driver::name_of_qos0_completion(static_cast<std::uint32_t>(*bits)))
                : driver.text("qos0_completion");
}

std::string why_no_witness(std::string_view name, std::string_view sight, Node witness,
                           std::uint32_t qos) {
    const bool is_by_qos = witness[name].json() && witness[name].json()->is_object();
    const std::string what =
        is_by_qos ? fmt::format("QoS {} in '{}'", qos, name) : fmt::format("'{}'", name);
    if (sight == "blind")
        return fmt::format("this broker does not count {}", what);
    if (sight == "unclear")
        return fmt::format("this broker's {} did not match the known messages it was tried with",
                           what);
    const std::string reason = witness.text("reason");
    return reason.empty() ? fmt::format("{} was not tried at this broker", what) : reason;
}

Count sum(Count one, Count other) { return one && other ? Count(*one + *other) : std::nullopt; }

// A misuse is noted while driving and again, complete, when the worker finishes.
std::vector<std::string> misuse_of(Node client) {
    std::vector<std::string> misuse = client.texts("misuse");
    return misuse.empty() ? client["report"].texts("misuse") : misuse;
}

} // namespace

Count Node::count(std::string_view key) const {
    const Node at = (*this)[key];
    if (!at || !at.json_->is_number())
        return std::nullopt;
    boost::system::error_code error;
    const auto value = at.json_->to_number<std::uint64_t>(error);
    return error ? std::nullopt : Count(value);
}

Number Node::number(std::string_view key) const {
    const Node at = (*this)[key];
    if (!at || !at.json_->is_number())
        return std::nullopt;
    boost::system::error_code error;
    const auto value = at.json_->to_number<double>(error);
    return error ? std::nullopt : Number(value);
}

std::string Node::text(std::string_view key) const {
    return json_ ? support::text_or(*json_, key, "") : std::string();
}

std::optional<bool> Node::boolean(std::string_view key) const {
    const Node at = (*this)[key];
    return at && at.json_->is_bool() ? std::optional(at.json_->get_bool()) : std::nullopt;
}

std::vector<std::string> Node::texts(std::string_view key) const {
    std::vector<std::string> values;
    if (const Node at = (*this)[key]; at && at.json_->is_array())
        for (const Json& item : at.json_->get_array())
            if (item.is_string())
                values.emplace_back(item.get_string());
    return values;
}

std::vector<std::uint64_t> Node::counts(std::string_view key) const {
    std::vector<std::uint64_t> values;
    if (const Node at = (*this)[key]; at && at.json_->is_array())
        for (const Json& item : at.json_->get_array()) {
            boost::system::error_code error;
            const auto value = item.is_number() ? item.to_number<std::uint64_t>(error) : 0;
            if (item.is_number() && !error)
                values.push_back(value);
        }
    return values;
}

std::optional<measure::Histogram> Node::histogram(std::string_view key) const {
    const Node at = (*this)[key];
    if (!at)
        return std::nullopt;
    support::Result<measure::Histogram> read = measure::Histogram::from_json(*at.json_);
    return read && read->count() ? std::optional(*std::move(read)) : std::nullopt;
}

std::string_view name_of(Load load) {
    constexpr std::string_view kNames[] = {"capacity", "fixed", "idle"};
    return kNames[static_cast<std::size_t>(load)];
}

Count ReceiveView::deliveries() const {
    if (!total)
        return std::nullopt;
    return *total + stray.value_or(0) + before_drive.value_or(0) + qos2_repeated.value_or(0);
}

Count ResourceView::cpu_ns() const {
    if (cpu_total_ns)
        return cpu_total_ns;
    return sum(cpu_user_ns, cpu_sys_ns);
}

Number ResourceView::cores(std::uint64_t window_ns) const {
    const Count used = cpu_ns();
    const std::uint64_t span = span_ns.value_or(0) ? *span_ns : window_ns;
    if (!used || span == 0)
        return std::nullopt;
    return static_cast<double>(*used) / static_cast<double>(span);
}

Count ResourceView::segments() const {
    return sum(tcp.count("segments_out"), tcp.count("segments_in"));
}

Count ResourceView::wire_bytes() const {
    return sum(tcp.count("bytes_out"), tcp.count("bytes_in"));
}

std::string ResourceView::why_unavailable(std::string_view name) const {
    if (!raw)
        return "nothing was sampled";
    const std::string why = raw["unavailable"].text(name);
    return why.empty() ? fmt::format("the run has no '{}'", name) : why;
}

RunView::RunView(const Json& run) : raw(&run) {
    client = raw.text("client_name");
    point = raw.text("point");
    const Node spec = raw["spec"];
    kind = scenario::kind_of(spec.text("kind")).value_or(scenario::Kind::idle);
    rate = spec.number("rate");
    load = kind == scenario::Kind::idle ? Load::idle : rate ? Load::fixed : Load::capacity;
    qos = static_cast<std::uint32_t>(std::min<std::uint64_t>(spec.count("qos").value_or(0), 2));
    payload_bytes = payload_lengths(spec);
    topic_bytes = spec.count("topic_bytes").value_or(0);
    filters = spec.count("filters").value_or(1);
    features = features_of(spec);
    is_direct = spec.boolean("direct").value_or(false);
    protocol = spec.text("protocol");
    pacing = measure::pacing_of(spec.text("pacing")).value_or(measure::Pacing::tick);
    const Node schedule = raw["schedule"];
    window_ns = schedule.count("window_ns").value_or(0);
    sending_ns = window_ns + schedule.count("warmup_ns").value_or(0);

    is_comparable = raw.boolean("comparable").value_or(false);
    not_comparable_because = raw.texts("not_comparable_because");
    failure = raw["failure"];
    worker = party_view(raw["client"]);
    peer = party_view(raw["peer"]);
    connect_ns = raw["client"].count("connect_ns");
    qos0_completion = qos0_completion_of(raw["client"]["driver"]);
    misuse = misuse_of(raw["client"]);
    broker_is_fresh = raw["broker"].boolean("fresh").value_or(false);

    const Node resources = raw["resources"];
    client_use = resource_view(resources["client"]);
    peer_use = resource_view(resources["peer"]);
    broker_use = resource_view(resources["broker"]);
    host = resources["host"];
}

CounterView RunView::counter(std::string_view name) const {
    const Node broker = raw["broker"];
    if (!broker)
        return {.delta = {}, .why_unavailable = "the broker was not read"};
    const Node witness = broker["witness"];
    const std::string sight = witness[name].json() && witness[name].json()->is_object()
                                  ? witness[name].text(fmt::format("qos{}", qos))
                                  : witness.text(name);
    if (!sight.empty() && sight != "exact")
        return {.delta = {}, .why_unavailable = why_no_witness(name, sight, witness, qos)};
    if (const Count delta = broker["delta"].count(name))
        return {.delta = delta, .why_unavailable = {}};
    const std::string why = broker["unavailable"].text(name);
    return {.delta = {}, .why_unavailable = why.empty() ? fmt::format("no '{}'", name) : why};
}

bool RunView::has_witness() const {
    const Node witness = raw["broker"]["witness"];
    if (!witness)
        return true; // not said: the counters are taken as they are
    const Node received = witness["publish_received"];
    return witness.text("messages_received") == "exact" || received.text("qos0") == "exact" ||
           received.text("qos1") == "exact" || received.text("qos2") == "exact";
}

Count RunView::confirmed_in_window() const {
    const Count first = result_receiver() ? result_receiver()->window : std::nullopt;
    if (kind != scenario::Kind::duplex || !first)
        return first;
    const Count second = worker.receive ? worker.receive->window : std::nullopt;
    return second ? Count(*first + *second) : std::nullopt;
}

Count RunView::effective_window() const {
    const Node spec = raw["spec"];
    if (qos == 0)
        return std::nullopt;
    if (kind == scenario::Kind::sub)
        return spec.count("receive_maximum");
    const Count asked = spec.count("window");
    const Count allowed = protocol == "5" ? peer.raw["connected"].count("receive_maximum") : asked;
    return asked && allowed ? Count(std::min(*asked, *allowed)) : std::nullopt;
}

} // namespace mqcore::verdict
