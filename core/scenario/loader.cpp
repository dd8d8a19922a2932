#include "scenario/loader.hpp"

#include "measure/offer.hpp"
#include "scenario/keys.hpp"
#include "scenario/profile.hpp"
#include "scenario/sweep.hpp"
#include "scenario/topic.hpp"
#include "support/file.hpp"
#include "support/quantity.hpp"
#include "support/schema.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace mqcore::scenario {
namespace {

using support::CheckedTable;
using support::CheckedValue;
using support::Diagnostic;
using support::DiagnosticList;
using support::SourceRange;
using support::TomlMember;
using support::TomlValue;

// Enough for ten thousand points; a disk image named by mistake is refused instead of read.
constexpr std::uintmax_t kFileBytesMax = 4 * 1024 * 1024;

// What one point says: its own table first, then [defaults], then the defaults of the key table.
class PointKeys {
  public:
    PointKeys(const TomlValue& table, const CheckedTable& defaults, std::string label,
              DiagnosticList& diagnostics);

    const CheckedValue& operator[](std::string_view key) const; // of a key with a default
    const CheckedValue* find(std::string_view key) const;       // said in the file
    const CheckedValue* find_any(std::string_view key) const;   // or by default
    bool is_own(std::string_view key) const { return own_.written.contains(key); }
    const CheckedTable& own() const { return own_; }
    const std::string& label() const { return label_; }

  private:
    bool has_meaning(std::string_view key) const;

    std::string label_;
    CheckedTable own_;
    const CheckedTable& defaults_;
};

LoadedScenario unreadable(const std::filesystem::path& path, std::string message, std::string hint);
std::vector<Point> read_points(const TomlValue& root, const CheckedTable& defaults,
                               DiagnosticList& diagnostics);
void read_driver_tables(const TomlValue& root, Scenario& scenario, DiagnosticList& diagnostics);
void report_duplicates(const std::vector<Point>& points, DiagnosticList& diagnostics);

} // namespace

LoadedScenario load_scenario(const std::filesystem::path& path) {
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (!std::filesystem::exists(status))
        return unreadable(path, "there is no such file", "");
    if (std::filesystem::is_directory(status))
        return unreadable(path, "this is a folder, not a scenario file", "name a .toml file in it");
    if (std::filesystem::is_block_file(status) || std::filesystem::is_character_file(status))
        return unreadable(path, "this is a device, not a scenario file", "");
    if (std::filesystem::is_regular_file(status) &&
        std::filesystem::file_size(path, failed) > kFileBytesMax)
        return unreadable(path, "this file is larger than 4 MiB, no scenario is", "");
    support::Result<std::string> content = support::read_file(path);
    if (!content)
        return unreadable(path, content.error().message, content.error().hint);
    return parse_scenario(*content, path.string());
}

LoadedScenario parse_scenario(std::string_view content, std::string_view file) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    const std::string hash = support::sha256(content);
    if (content.starts_with(kByteOrderMark))
        content.remove_prefix(kByteOrderMark.size());
    const support::SourceFile source{std::string(file), std::string(content)};
    DiagnosticList diagnostics(source);
    if (content.find_first_not_of(" \t\r\n") == std::string_view::npos) {
        diagnostics.error({}, "this file is empty",
                          "a scenario has a [suite] and [[point]] tables");
        return {std::nullopt, diagnostics.in_file_order()};
    }
    const std::optional<TomlValue> root = support::parse_toml(source, diagnostics);
    if (!root)
        return {std::nullopt, diagnostics.in_file_order()};

    const support::Schema& schema = scenario_schema();
    support::check_top_level(*root, schema, diagnostics);
    const auto checked = [&](std::string_view name) {
        const TomlMember* member = root->find(name);
        const bool is_table = member && member->value.type == TomlValue::Type::table;
        return is_table
                   ? support::check_table(member->value, schema.table(name),
                                          fmt::format("[{}]", name), schema.all_keys, diagnostics)
                   : CheckedTable{};
    };
    const CheckedTable suite = checked("suite");
    const CheckedTable defaults = checked("defaults");

    Scenario scenario;
    scenario.file = source.name;
    scenario.content = source.content;
    scenario.sha256 = hash;
    scenario.suite = suite.find("name") ? suite.find("name")->text : "";
    scenario.title = suite.find("title") ? suite.find("title")->text : "";
    scenario.points = read_points(*root, defaults, diagnostics);
    const CheckedValue* broker = suite.find("broker");
    for (Point& point : scenario.points) {
        point.is_direct = broker && broker->text == "direct";
        point.suite = scenario.suite;
        point.file = scenario.file;
    }
    read_driver_tables(*root, scenario, diagnostics);
    if (diagnostics.has_error())
        return {std::nullopt, diagnostics.in_file_order()};
    return {std::move(scenario), diagnostics.in_file_order()};
}

LoadedScenarios load_scenarios(std::span<const std::filesystem::path> paths) {
    LoadedScenarios all;
    for (const std::filesystem::path& path : paths) {
        LoadedScenario loaded = load_scenario(path);
        std::ranges::move(loaded.diagnostics, std::back_inserter(all.diagnostics));
        if (loaded.scenario)
            all.scenarios.push_back(*std::move(loaded.scenario));
    }
    std::map<std::string, const Point*> first_of_id;
    std::map<std::string, std::string> file_of_driver;
    for (const Scenario& scenario : all.scenarios) {
        const support::SourceFile source{scenario.file, scenario.content};
        DiagnosticList diagnostics(source);
        for (const Point& point : scenario.points)
            if (const auto [at, is_new] = first_of_id.emplace(point.id, &point); !is_new)
                diagnostics.error(point.id_range,
                                  fmt::format("point '{}' is already in {}:{}", point.id,
                                              at->second->file, at->second->line),
                                  "files that run together need different ids");
        for (const auto& [driver, where] : scenario.driver_tables)
            if (const auto [at, is_new] = file_of_driver.emplace(driver, scenario.file); !is_new)
                diagnostics.error(where, fmt::format("options for driver '{}' are already in {}",
                                                     driver, at->second));
        std::ranges::move(diagnostics.in_file_order(), std::back_inserter(all.diagnostics));
    }
    return all;
}

std::vector<Diagnostic> unknown_drivers(std::span<const Scenario> scenarios,
                                        std::span<const std::string> known_ids) {
    std::vector<Diagnostic> all;
    for (const Scenario& scenario : scenarios) {
        const support::SourceFile source{scenario.file, scenario.content};
        DiagnosticList diagnostics(source);
        for (const auto& [driver, where] : scenario.driver_tables) {
            if (std::ranges::find(known_ids, driver) != known_ids.end())
                continue;
            const auto near = support::nearest(driver, known_ids);
            diagnostics.warning(
                where, fmt::format("options for driver '{}', which is not here", driver),
                near ? fmt::format("did you mean '{}'?", *near) : "all drivers: mqcore clients");
        }
        std::ranges::move(diagnostics.in_file_order(), std::back_inserter(all));
    }
    return all;
}

namespace {

LoadedScenario unreadable(const std::filesystem::path& path, std::string message,
                          std::string hint) {
    return {std::nullopt,
            {Diagnostic{.file = path.string(),
                        .message = std::move(message),
                        .hint = std::move(hint),
                        .source_line = {}}}};
}

// --- where a value comes from -------------------------------------------------------------------

// The defaults of the key table, put through the same checks as a file.
const CheckedTable& built_in_defaults() {
    static const CheckedTable defaults = [] {
        const support::SchemaTable& rows = scenario_schema().table("defaults");
        support::SourceFile source{"built-in defaults", {}};
        for (const support::SchemaKey& key : rows.keys)
            if (!key.fallback.empty())
                source.content += fmt::format("{} = {}\n", key.name, key.fallback);
        DiagnosticList diagnostics(source);
        return support::check_table(*support::parse_toml(source, diagnostics), rows, "defaults", "",
                                    diagnostics);
    }();
    return defaults;
}

PointKeys::PointKeys(const TomlValue& table, const CheckedTable& defaults, std::string label,
                     DiagnosticList& diagnostics)
    : label_(std::move(label)),
      own_(support::check_table(table, scenario_schema().table("point"), label_,
                                scenario_schema().all_keys, diagnostics)),
      defaults_(defaults) {}

const CheckedValue& PointKeys::operator[](std::string_view key) const {
    if (const CheckedValue* value = find(key))
        return *value;
    return *built_in_defaults().find(key);
}

const CheckedValue* PointKeys::find(std::string_view key) const {
    if (is_own(key))
        return own_.find(key);
    return has_meaning(key) ? defaults_.find(key) : nullptr;
}

const CheckedValue* PointKeys::find_any(std::string_view key) const {
    const CheckedValue* value = find(key);
    return value || !has_meaning(key) ? value : built_in_defaults().find(key);
}

bool PointKeys::has_meaning(std::string_view key) const {
    const CheckedValue* kind = own_.find("kind");
    const auto& rows = scenario_schema().table("point").keys;
    const auto row = std::ranges::find(rows, key, &support::SchemaKey::name);
    return kind &&
           (row->cases.empty() || std::ranges::find(row->cases, kind->text) != row->cases.end());
}

// --- points -------------------------------------------------------------------------------------

// Exactly one of rate and load. Where [defaults] gives one and the point the other, the point wins.
void read_offer(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    const bool says_rate = keys.is_own("rate");
    const bool says_load = keys.is_own("load");
    const CheckedValue* rate = says_load && !says_rate ? nullptr : keys.find("rate");
    const CheckedValue* load = says_rate && !says_load ? nullptr : keys.find("load");
    if (!rate && !load && !says_rate && !says_load)
        diagnostics.error(keys.own().where,
                          fmt::format("{} has neither 'rate' nor 'load'", keys.label()),
                          "write rate = \"2000/s\" for a fixed offer, load = \"capacity\" for as "
                          "much as the client can");
    if (rate)
        point.rate = rate->number;
    point.is_capacity = load != nullptr;
    if (load && keys.is_own("pacing"))
        if (const CheckedValue* pacing = keys.find("pacing"))
            diagnostics.error(pacing->key_range,
                              fmt::format("'pacing' has no meaning with 'load' of line {} in {}",
                                          load->key_range.line, keys.label()),
                              "only a rate is paced: remove 'pacing', or write a rate");
}

// A rate so low that nothing falls due in a profile's window measures nothing.
void warn_of_empty_windows(const PointKeys& keys, const Point& point, DiagnosticList& diagnostics) {
    if (!point.rate)
        return;
    std::string empty;
    for (const Profile& profile : profiles()) {
        const measure::Schedule schedule{.start_ns = 0,
                                         .warmup_ns = profile.warmup_ns,
                                         .window_ns = profile.window_ns,
                                         .drain_ns = profile.drain_ns};
        const measure::Offer offer(schedule, point.rate, point.pacing);
        if (offer.due_between(schedule.window_start(), schedule.window_end()) == 0)
            empty += fmt::format("{}'{}' ({} s)", empty.empty() ? "" : " and ", profile.name,
                                 static_cast<double>(profile.window_ns) / 1e9);
    }
    if (!empty.empty())
        diagnostics.warning(
            keys["rate"].where,
            fmt::format("at {} no message of {} falls due in the window of profile {}",
                        support::print_rate(*point.rate), keys.label(), empty),
            "such a run has nothing to measure");
}

// The place of a byte inside a text value: exact where the value is written plainly on one line,
// else the value as a whole (escapes and line breaks have no simple place).
SourceRange range_inside(const CheckedValue& value, std::size_t at, const std::string& content) {
    const std::string_view line = support::line_of(content, value.where.line);
    const auto starts_point = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
    };
    const auto points = [&](std::string_view text) {
        return static_cast<std::uint32_t>(std::ranges::count_if(text, starts_point));
    };
    const bool is_plain = value.where.length == points(value.text) + 2 &&
                          line.find(value.text) != std::string_view::npos;
    if (!is_plain)
        return value.where;
    return {.line = value.where.line,
            .column = value.where.column + 1 + points(std::string_view(value.text).substr(0, at)),
            .length = 1};
}

// Most bytes of a PUBLISH that neither its fixed header nor its payload takes (3.1.1, 5 section 3.3.2).
std::uint64_t header_bytes(const Point& point) {
    constexpr std::uint64_t kLengthOfProperties = 4;
    constexpr std::uint64_t kPropertyOverhead = 5; // identifier and lengths
    std::uint64_t bytes = 2 + kRunPrefixBytesMax + point.topic.size() + (point.qos > 0 ? 2 : 0);
    if (point.protocol == measure::Protocol::v5)
        bytes += 1;
    if (point.properties.is_empty())
        return bytes;
    bytes += kLengthOfProperties + 3 * kPropertyOverhead + point.properties.content_type.size() +
             point.properties.response_topic.size() + point.properties.correlation_data.size();
    for (const auto& [name, value] : point.properties.user)
        bytes += kPropertyOverhead + name.size() + value.size();
    return bytes;
}

void read_topic(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    const CheckedValue& topic = keys["topic"];
    point.topic = topic.text;
    const auto fault = fault_of_topic(topic.text, kRunPrefixBytesMax);
    if (!fault)
        return;
    const SourceRange where =
        fault->at ? range_inside(topic, *fault->at, diagnostics.source().content) : topic.where;
    const std::string message = fmt::format("'topic' of {} {}", keys.label(), fault->what);
    if (fault->is_fatal)
        diagnostics.error(where, message, fault->hint);
    else
        diagnostics.warning(where, message, fault->hint);
}

void read_topics(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    if (const CheckedValue* topics = keys.find_any("topics"))
        point.topics = static_cast<std::uint32_t>(topics->integer);
    const CheckedValue* filters = keys.find_any("filters");
    if (!filters)
        return;
    point.filters = static_cast<std::uint32_t>(filters->integer);
    if (point.topics % point.filters != 0)
        diagnostics.error(filters->where,
                          fmt::format("{} 'filters' do not divide {} 'topics' of {}", point.filters,
                                      point.topics, keys.label()),
                          "each filter gets as many topics as every other");
}

// What only MQTT 5 has.
void read_v5(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    const auto text = [&](std::string_view key) {
        const CheckedValue* value = keys.find_any(key);
        return value ? value->text : std::string();
    };
    if (const CheckedValue* maximum = keys.find_any("receive_maximum"))
        point.receive_maximum = static_cast<std::uint32_t>(maximum->integer);
    if (const CheckedValue* alias = keys.find_any("topic_alias"))
        point.has_topic_alias = alias->boolean;
    point.properties = {.content_type = text("content_type"),
                        .response_topic = text("response_topic"),
                        .correlation_data = text("correlation_data")};
    if (const CheckedValue* user = keys.find_any("user_properties"))
        for (const std::string& pair : user->words) {
            const std::size_t equals = pair.find('=');
            if (equals == std::string::npos || equals == 0)
                diagnostics.error(user->where,
                                  fmt::format("user property \"{}\" of {} is not name=value",
                                              support::brief(pair), keys.label()),
                                  "write it like: user_properties = [\"unit=kelvin\"]");
            else
                point.properties.user.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
        }
    if (point.has_topic_alias && point.topics > 1)
        diagnostics.error(keys.find_any("topic_alias")->where,
                          fmt::format("'topic_alias' of {} goes with one topic, not {}",
                                      keys.label(), point.topics),
                          "remove 'topics' or 'topic_alias'");
    if (point.protocol == measure::Protocol::v5)
        return;
    for (const std::string_view key : {"receive_maximum", "topic_alias", "content_type",
                                       "response_topic", "correlation_data", "user_properties"})
        if (const CheckedValue* value = keys.find(key); value && keys.is_own(key))
            diagnostics.error(
                value->key_range,
                fmt::format("'{}' has no meaning in {} of MQTT 3.1.1", key, keys.label()),
                "only MQTT 5 has it: write protocol = \"5\", or remove it");
    point.receive_maximum = 0;
    point.has_topic_alias = false;
    point.properties = {};
}

// False: the point has a payload.
bool read_packets(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    const CheckedValue* packets = keys.is_own("payload") ? nullptr : keys.find_any("packets");
    if (!packets)
        return false;
    const std::uint64_t header = header_bytes(point);
    for (const std::int64_t length : packets->integers) {
        point.packets.push_back(static_cast<std::uint32_t>(length));
        if (static_cast<std::uint64_t>(length) < header)
            diagnostics.error(packets->where,
                              fmt::format("a packet of {}B of {} has no room for its topic", length,
                                          keys.label()),
                              fmt::format("topic and header take up to {}B", header));
    }
    if (point.has_topic_alias || !point.properties.is_empty())
        diagnostics.error(
            packets->key_range,
            fmt::format("'packets' of {} go with neither 'topic_alias' nor properties",
                        keys.label()),
            "write a payload instead");
    if (point.packets.empty())
        diagnostics.error(packets->where, fmt::format("'packets' of {} is empty", keys.label()),
                          "write it like: packets = [\"127B\", \"128B\"]");
    else
        point.payload_bytes = std::ranges::max(point.packets);
    return true;
}

// The payload must leave room for the topic and the rest of the variable header (MQTT 3.3.2).
void read_payload(const PointKeys& keys, Point& point, DiagnosticList& diagnostics) {
    const CheckedValue& payload = keys["payload"];
    point.payload_bytes = static_cast<std::uint32_t>(payload.integer);
    const std::uint64_t most = kPacketBytesMax - header_bytes(point);
    if (point.payload_bytes > most)
        diagnostics.error(
            payload.where,
            fmt::format("'payload' of {} does not fit into an MQTT packet", keys.label()),
            fmt::format("at most {}B: a packet has {}B, the topic and the header need "
                        "the rest",
                        most, kPacketBytesMax));
    constexpr std::pair<std::uint32_t, std::string_view> kMissing[] = {
        {8, "no stamp, so no latency"},
        {16, "no sequence number, so losses are counted and not named"},
        {20, "no run tag, so strays of another run are not told apart"}};
    for (const auto& [below, what] : kMissing)
        if (point.payload_bytes < below) {
            diagnostics.warning(payload.where,
                                fmt::format("a payload of {}B carries {} in {}",
                                            point.payload_bytes, what, keys.label()),
                                "from 20B on a payload carries all three");
            break;
        }
}

Point read_point(const PointKeys& keys, DiagnosticList& diagnostics) {
    Point point;
    point.line = keys.own().where.line;
    if (const CheckedValue* id = keys.find("id")) {
        point.id = id->text;
        point.id_range = id->where;
    }
    if (const CheckedValue* question = keys.find("question"))
        point.question = question->text;
    const CheckedValue* kind = keys.find("kind");
    if (!kind)
        return point; // reported; what else it may say depends on the kind
    point.kind = *kind_of(kind->text);
    point.protocol = *measure::protocol_of(keys["protocol"].text);
    point.has_tls = keys["tls"].boolean;
    const CheckedValue& keepalive = keys["keepalive"];
    point.keepalive_s = static_cast<std::uint32_t>(keepalive.number);
    if (keepalive.number != std::floor(keepalive.number))
        diagnostics.error(
            keepalive.where,
            fmt::format("'keepalive' of {} is not a whole number of seconds", keys.label()),
            "MQTT counts it in whole seconds: write it like keepalive = \"1s\"");
    if (point.kind == Kind::idle)
        return point;
    point.qos = static_cast<std::uint32_t>(keys["qos"].integer);
    point.window = static_cast<std::uint32_t>(keys["window"].integer);
    point.pacing = *measure::pacing_of(keys["pacing"].text);
    read_offer(keys, point, diagnostics);
    warn_of_empty_windows(keys, point, diagnostics);
    read_topic(keys, point, diagnostics);
    read_topics(keys, point, diagnostics);
    read_v5(keys, point, diagnostics);
    if (!read_packets(keys, point, diagnostics))
        read_payload(keys, point, diagnostics);
    return point;
}

std::vector<Point> read_points(const TomlValue& root, const CheckedTable& defaults,
                               DiagnosticList& diagnostics) {
    std::vector<Point> points;
    const TomlMember* list = root.find("point");
    if (!list || list->value.type != TomlValue::Type::array)
        return points;
    const support::SchemaTable& schema = scenario_schema().table("point");
    for (std::size_t i = 0; i < list->value.items.size(); ++i) {
        const TomlValue& table = list->value.items[i];
        if (table.type != TomlValue::Type::table)
            return points; // reported with the top level
        const std::string label = support::label_of(table, schema, i);
        for (const TomlValue& one : expand_sweeps(table, schema, label, diagnostics))
            points.push_back(read_point(PointKeys(one, defaults, label, diagnostics), diagnostics));
    }
    report_duplicates(points, diagnostics);
    return points;
}

void report_duplicates(const std::vector<Point>& points, DiagnosticList& diagnostics) {
    std::map<std::string, std::uint32_t> line_of_id;
    for (const Point& point : points)
        if (!point.id.empty())
            if (const auto [at, is_new] = line_of_id.emplace(point.id, point.id_range.line);
                !is_new)
                diagnostics.error(
                    point.id_range,
                    fmt::format("point '{}' is already in line {}", point.id, at->second),
                    "every point has an id of its own");
}

// --- options for drivers ------------------------------------------------------------------------

void read_driver_tables(const TomlValue& root, Scenario& scenario, DiagnosticList& diagnostics) {
    const TomlMember* drivers = root.find("driver");
    if (!drivers || drivers->value.type != TomlValue::Type::table)
        return;
    for (const TomlMember& driver : drivers->value.members) {
        if (driver.value.type != TomlValue::Type::table) {
            diagnostics.error(driver.key_range,
                              fmt::format("'{}' stands in [driver], which has only tables",
                                          support::brief(driver.key)),
                              "options stand in a table of the driver: [driver.ID]");
            continue;
        }
        scenario.driver_tables.emplace(driver.key, driver.key_range);
        auto& options = scenario.driver_options[driver.key];
        for (const TomlMember& option : driver.value.members) {
            if (const auto text = support::option_text(option.value))
                options.emplace(option.key, *text);
            else
                diagnostics.error(option.value.where,
                                  fmt::format("option '{}' of driver '{}' is {}",
                                              support::brief(option.key),
                                              support::brief(driver.key),
                                              option.value.type == TomlValue::Type::text
                                                  ? "text with U+0000"
                                                  : support::name_of(option.value.type)),
                                  "an option is text, a number, or true or false");
        }
    }
}

} // namespace
} // namespace mqcore::scenario
