#include "scenario/reference.hpp"

#include "scenario/keys.hpp"
#include "scenario/point.hpp"
#include "scenario/profile.hpp"
#include "support/schema_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mqcore::scenario {
namespace {

constexpr std::string_view kOpening = R"(# Scenario files

For people who write or read a scenario. This page is made from the same table of keys that checks
the files (`core/scenario/keys.cpp`); a test keeps it current.

A scenario is a TOML file of points. It is read at run time: a new point, a new suite or a changed
rate never needs a compiler. This is a complete one:

```toml
[suite]
name = "mine"

[[point]]
id = "pub_qos1_1k"
kind = "pub"
qos = 1
payload = "1KiB"
rate = "500/s"
question = "What does publishing 500 QoS 1 messages of 1 KiB per second cost?"
```

`mqcore validate FILE` checks a file and starts nothing. A file is checked as a whole; every
finding has its line and column, and with an error nothing runs. `mqcore validate --keys` shows
the keys below on the terminal. Editors that know JSON Schema take `docs/scenario.schema.json`,
for instance from a first line `#:schema ../docs/scenario.schema.json`.

)";

constexpr std::string_view kValues = R"(## How values are written

- *size*: text with a unit, `"256B"`, `"64kB"` (1,000), `"16KiB"` (1,024), `"1MiB"`, `"1.5MB"`; or
  a plain number of bytes.
- *rate*: `"2000/s"`, `"0.5/s"`, `"30/min"`; or a plain number per second.
- *time*: `"60s"`, `"1min"`, `"500ms"`; or a plain number of seconds.

A value with a unit is text and stands in quotes. Spelling counts: `MB` and `MiB` are different
sizes.

)";

constexpr std::string_view kRules = R"(## What else is checked

- Ids are unique over all files of one run.
- A list in a key that may have one stands for a point for each value: `rate = [500, "5000/s"]` in
  `pub_qos1_fixed` makes `pub_qos1_fixed_500` and `pub_qos1_fixed_5k`, `payload = ["16KiB"]` makes
  `…_16k`. Several lists make every combination.
- What only MQTT 5 has is an error in a point of MQTT 3.1.1, and passed over in `[defaults]`.
- A point says either `rate` or `load`. What `[defaults]` says about one gives way to what the
  point says about the other.
- A key without a meaning for the kind is an error in the point itself, and passed over in
  `[defaults]`.
- A topic is valid UTF-8 without U+0000 and wildcards, and with the run's prefix of up to {} bytes
  not longer than 65,535 bytes. Characters for which a broker may close the connection give a
  warning.
- Topic, header and payload fit into one MQTT packet (268,435,455 bytes).
- A payload too short for stamp, sequence number or run tag, and a rate at which nothing falls due
  in a profile's window, give a warning: the run works and says less.

)";

std::string profiles_section() {
    const auto seconds = [](support::Nanoseconds time) { return static_cast<double>(time) / 1e9; };
    std::string out =
        "## Profiles\n\nA point says what is asked; the profile of the command line says "
        "how thoroughly.\n\n"
        "| profile | warm-up | window | drain | runs | comparable | meant for |\n"
        "|---|---|---|---|---|---|---|\n";
    for (const Profile& profile : profiles())
        out += fmt::format("| `{}` | {} s | {} s | {} s | {} | {} | {} |\n", profile.name,
                           seconds(profile.warmup_ns), seconds(profile.window_ns),
                           seconds(profile.drain_ns), profile.runs,
                           profile.is_comparable ? "yes" : "no", profile.help);
    return out + "\n";
}

// Asked of a driver that can do nothing, the function that refuses pairs lists all that is needed.
std::string needs_section() {
    const driver::Claims nothing{.max_window = 1};
    std::string out =
        "## What a point needs of a driver\n\nIt is derived from the keys. A driver that "
        "lacks one of these is\nrefused for the point before anything starts "
        "(`unsupported`), and nothing is approximated. For example:\n\n"
        "| point | needs |\n|---|---|\n";
    Point point;
    point.qos = 1;
    for (const Kind kind : {Kind::pub, Kind::sub, Kind::rtt, Kind::duplex, Kind::idle}) {
        point.kind = kind;
        point.has_topic_alias = kind == Kind::rtt;
        point.filters = kind == Kind::sub ? 100 : 1;
        point.has_tls = kind == Kind::sub;
        point.protocol = kind == Kind::rtt ? measure::Protocol::v5 : measure::Protocol::v311;
        const std::string words = fmt::format(
            "`kind = \"{}\"`{}{}{}{}{}", name_of(kind),
            kind == Kind::idle ? "" : fmt::format(", `qos = {}`", point.qos),
            point.protocol == measure::Protocol::v5 ? ", `protocol = \"5\"`" : "",
            point.has_tls ? ", `tls = true`" : "", point.filters > 1 ? ", `filters = 100`" : "",
            point.has_topic_alias ? ", `topic_alias = true`" : "");
        std::string needs;
        for (const std::string& need : missing_capabilities(point, nothing)) {
            // The reason names the limit of the driver asked, which means nothing here.
            const std::string name = need.substr(0, need.find(" ("));
            needs += fmt::format("{}{}", needs.empty() ? "" : ", ", name);
        }
        out += fmt::format("| {} | {} |\n", words, needs);
    }
    return out + "\n";
}

} // namespace

support::JsonObject scenario_json_schema() { return support::json_schema_of(scenario_schema()); }

std::string scenario_reference_markdown() {
    std::string page(kOpening);
    page += support::markdown_of(scenario_schema());
    page += kValues;
    page += fmt::format(kRules, kRunPrefixBytesMax);
    page += profiles_section();
    page += needs_section();
    page.pop_back(); // one newline ends a file
    return page;
}

std::string scenario_keys() { return support::terminal_text_of(scenario_schema()); }

} // namespace mqcore::scenario
