#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>

namespace mqcore::verdict {
namespace {

template <class Enum, std::size_t size>
std::string_view name_in(const std::string_view (&names)[size], Enum value) {
    return names[static_cast<std::size_t>(value)];
}

template <class Entry>
const Entry* find_entry(const std::vector<Entry>& entries, std::string_view id) {
    const auto found = std::ranges::find(entries, id, &Entry::id);
    return found == entries.end() ? nullptr : &*found;
}

// "a", "a and b", "a, b and c"; empty when every name is in the set.
std::string list_of(std::span<const std::string_view> names, std::uint32_t set,
                    std::string_view last = " and ") {
    std::vector<std::string_view> chosen;
    for (std::size_t bit = 0; bit < names.size(); ++bit)
        if (set >> bit & 1u)
            chosen.push_back(names[bit]);
    if (chosen.size() == names.size())
        return {};
    std::string text;
    for (std::size_t i = 0; i < chosen.size(); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : i + 1 == chosen.size() ? last : ", ", chosen[i]);
    return text;
}

constexpr std::string_view kStatusNames[] = {"valid", "not_sustained", "invalid", "unsupported"};
constexpr std::string_view kOutcomeNames[] = {"pass", "fail", "unavailable", "not_applicable"};
constexpr std::string_view kPartyNames[] = {"client", "driver", "peer",
                                            "broker", "host",   "harness"};
constexpr std::string_view kUnitSymbols[] = {"/s", "µs", "ms", "%", "KiB", ""};
// In the order of scenario::Kind and of Load.
constexpr std::string_view kKindWords[] = {"publish", "receive", "round trip", "duplex", "idle"};
constexpr std::string_view kLoadWords[] = {"at capacity", "at a fixed rate", "idle"};
constexpr std::string_view kQosWords[] = {"0", "1", "2"};
constexpr std::string_view kFeatureWords[] = {"callbacks for filters", "properties",
                                              "a topic alias"};

} // namespace

std::string_view name_of(Status status) { return name_in(kStatusNames, status); }
std::string_view name_of(Outcome outcome) { return name_in(kOutcomeNames, outcome); }
std::string_view name_of(Party party) { return name_in(kPartyNames, party); }
std::string_view symbol_of(Unit unit) { return name_in(kUnitSymbols, unit); }

std::optional<Status> status_of(std::string_view name) {
    const auto* found = std::ranges::find(kStatusNames, name);
    if (found == std::end(kStatusNames))
        return std::nullopt;
    return static_cast<Status>(found - std::begin(kStatusNames));
}

bool Scope::covers(const RunView& run) const {
    const auto has = [](std::uint32_t set, auto bit) {
        return (set >> static_cast<std::uint32_t>(bit) & 1u) != 0;
    };
    return has(kinds, run.kind) && has(loads, run.load) && has(qos, run.qos) &&
           (run.features & features) == features && !(needs_broker && run.is_direct);
}

std::string in_words(const Scope& scope) {
    constexpr auto kIdle = static_cast<std::uint32_t>(scenario::Kind::idle);
    // Without idle points there is no idle load either.
    const bool has_idle = (scope.kinds >> kIdle & 1u) != 0;
    const std::uint32_t with_messages = scope.kinds & ~(1u << kIdle);
    const std::string kinds = list_of(kKindWords, scope.kinds);
    const std::string loads =
        list_of(std::span(kLoadWords).first(has_idle ? 3 : 2), scope.loads, " or ");
    const std::string qos = list_of(kQosWords, scope.qos);
    const bool has_all_with_messages = with_messages == (1u << kIdle) - 1;
    std::string text = has_idle && has_all_with_messages ? "every point"
                       : has_all_with_messages           ? "points with messages"
                                                         : kinds + " points";
    if (!loads.empty())
        text += ' ' + loads;
    if (!qos.empty())
        text += ", QoS " + qos;
    if (scope.features)
        text += ", with " + list_of(kFeatureWords, scope.features);
    if (scope.needs_broker)
        text += "; not in direct mode";
    return text;
}

const std::vector<StatusEntry>& statuses() {
    static const std::vector<StatusEntry> kEntries = {
        {Status::valid,
         "Every check passed, or could not be made and says why. Only valid runs enter "
         "a cell's numbers."},
        {Status::not_sustained,
         "The client did not do what the point asks: it fell behind the offer, lost or doubled "
         "messages, or lost its connection. This is a finding about the client. The run stays out "
         "of "
         "the numbers, because what a backlog costs and how long it waits is not what was asked."},
        {Status::invalid,
         "The conditions were not the agreed ones (mqcore, the peer, the broker, the machine or "
         "the "
         "driver failed), or the client's process ended before it could be measured. The run says "
         "nothing about how fast the client is and is tried once more; both results are kept."},
        {Status::unsupported,
         "The client cannot do something that the point needs, such as a QoS level. Where the "
         "driver's claims tell, the pair is refused before anything starts. Where only the "
         "connection tells, because the broker grants less, the first run is the last one. Nothing "
         "is approximated."},
    };
    return kEntries;
}

const CheckEntry* find_check(std::string_view id) { return find_entry(checks(), id); }
const FlagEntry* find_flag(std::string_view id) { return find_entry(flags(), id); }
const MetricEntry* find_metric(std::string_view id) { return find_entry(metrics(), id); }

} // namespace mqcore::verdict
