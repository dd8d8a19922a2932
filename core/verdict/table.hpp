#pragma once
// The one table: every status, check, flag and metric is one entry that says what it is, when it
// applies and how it is computed, and holds the function that computes it. `mqcore explain`,
// docs/measuring.md, the result files and the terminal tables are made from these entries. A new check,
// flag or metric is a new row in checks_of_*.cpp, flags.cpp or metrics.cpp and nothing else.

#include "verdict/view.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::verdict {

struct Context;

// Spelt as in the result files.
enum class Status { valid, not_sustained, invalid, unsupported };
enum class Outcome { pass, fail, unavailable, not_applicable };
enum class Party { client, driver, peer, broker, host, harness };
enum class Direction { higher, lower, none };

std::string_view name_of(Status status);
std::string_view name_of(Outcome outcome);
std::string_view name_of(Party party);
std::optional<Status> status_of(std::string_view name);

// On which points an entry applies. Sets of kinds, loads and QoS as bits; a point must ask for all
// features named.
struct Scope {
    std::uint32_t kinds = 0;    // 1 << scenario::Kind
    std::uint32_t loads = 0;    // 1 << Load
    std::uint32_t qos = 7;      // 1 << QoS
    std::uint32_t features = 0; // 1 << Feature
    bool needs_broker = false;  // has nothing to say in direct mode

    bool covers(const RunView& run) const;
};
std::string in_words(const Scope& scope); // "Publish and round trip; fixed rate; QoS 1 and 2."

// What a check found. A failed one names the party to blame and what that makes of the run.
struct Finding {
    Outcome outcome = Outcome::pass;
    std::string detail;
    std::optional<Party> party;
    Status status = Status::valid;
};

struct CheckEntry {
    std::string id, title;
    std::string says;     // in plain words
    std::string computed; // how, with the limits in numbers
    Scope scope;
    Finding (*find)(const RunView& run, const Context& context);
};

struct FlagEntry {
    std::string id, title, says, computed;
    Scope scope;
    // The detail when it is raised.
    std::optional<std::string> (*raise)(const RunView& run, const Context& context);
};

struct MetricValue {
    Number value;
    std::string unavailable; // why, when there is no value
};

enum class Unit { per_second, microseconds, milliseconds, percent, kibibytes, count };
std::string_view symbol_of(Unit unit);

struct MetricEntry {
    std::string id, title, says, computed;
    Scope scope;
    Unit unit = Unit::count;
    Direction direction = Direction::lower;
    MetricValue (*compute)(const RunView& run);
    // A percentile is taken again from the merged histogram of a cell's valid runs: which one, and
    // the quantile (1: the largest sample). Empty: the cell's value is the median of its runs.
    std::string histogram; // "transit", "since_due", "lag", "receive_transit", "receive_since_due"
    double quantile = 0;
};

// Which of a run's histograms a metric's `histogram` names; nothing: the run has none with a sample.
std::optional<measure::Histogram> histogram_of(const RunView& run, std::string_view name);

struct StatusEntry {
    Status status;
    std::string says;
};

const std::vector<StatusEntry>& statuses();
const std::vector<CheckEntry>& checks();
const std::vector<FlagEntry>& flags();
const std::vector<MetricEntry>& metrics();

const CheckEntry* find_check(std::string_view id);
const FlagEntry* find_flag(std::string_view id);
const MetricEntry* find_metric(std::string_view id);

} // namespace mqcore::verdict
