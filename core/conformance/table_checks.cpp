// Checks of driver.toml, of the library and of its table. The library is opened by a worker, which
// reports what the table says; nothing of the driver but its entry runs.

#include "conformance/checks.hpp"
#include "conformance/library_file.hpp"
#include "conformance/server.hpp"
#include "driver/claim_names.hpp"
#include "driver/loaded_driver.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mqcore::conformance {
namespace {

// The facts of the library, or the verdict of a check that cannot have them.
struct Facts {
    Json facts;
    std::optional<Verdict> unavailable;
};

Facts facts_of(Bench& bench) {
    Trial trial(bench);
    const Step step = trial.inspect();
    if (!step)
        return {.facts = nullptr,
                .unavailable =
                    Verdict{step.trouble->outcome, "opening the library: " + step.trouble->text}};
    const Json* facts = support::find(step.event, "facts");
    return {.facts = facts ? *facts : Json(nullptr), .unavailable = std::nullopt};
}

// A part of the facts, null when the library does not go so far.
Json part(const Json& facts, std::string_view name) {
    const Json* found = support::find(facts, name);
    return found ? *found : Json(nullptr);
}

Verdict pass(std::string detail = {}) { return {Outcome::pass, std::move(detail)}; }
Verdict fail(std::string detail) { return {Outcome::fail, std::move(detail)}; }

Verdict descriptor_valid(Bench& bench) {
    const Subject& subject = bench.subject();
    if (subject.has_descriptor)
        return pass();
    if (subject.diagnostics.empty())
        return fail("there is no driver.toml beside the library");
    const support::Diagnostic& first = subject.diagnostics.front();
    return fail(
        fmt::format("{}:{}:{}: {}", "driver.toml", first.line, first.column, first.message));
}

Verdict exports_entry_only(Bench& bench) {
    const auto library = read_library(bench.subject().descriptor.library_file);
    if (!library)
        return {Outcome::skipped, library.error().message};
    std::vector<std::string> others = library->exported;
    std::erase(others, "mqcore_driver_entry");
    if (others.empty())
        return pass();
    constexpr std::size_t kNamed = 3;
    const std::size_t more = others.size() > kNamed ? others.size() - kNamed : 0;
    others.resize(others.size() - more);
    return {Outcome::warning,
            fmt::format("it exports besides: {}{}", fmt::join(others, ", "),
                        more ? fmt::format(" and {} more", more) : std::string())};
}

Verdict no_executable_stack(Bench& bench) {
    const auto library = read_library(bench.subject().descriptor.library_file);
    if (!library)
        return {Outcome::skipped, library.error().message};
    return library->wants_executable_stack
               ? fail(
                     "it asks for an executable stack, which every thread of the worker would get: "
                     "link it with -z noexecstack")
               : pass();
}

Verdict loads(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    if (support::boolean_or(facts, "loads", false))
        return pass();
    // Newer loaders refuse such a library: one fault, one check.
    if (no_executable_stack(bench).outcome == Outcome::fail)
        return {Outcome::skipped, "'no-executable-stack' did not pass"};
    return fail(support::text_or(facts, "loader_text", "it cannot be opened"));
}

Verdict entry_point(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    if (!support::boolean_or(facts, "exports_entry", false))
        return fail("it does not export mqcore_driver_entry()");
    if (part(facts, "table").is_null())
        return fail("mqcore_driver_entry() returned null: " +
                    session::log_tail(bench.log_file(), 1));
    return pass();
}

Verdict magic_and_size(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    const Json table = part(facts, "table");
    if (const auto magic = support::unsigned_or(table, "magic", 0); magic != MQCORE_MAGIC)
        return fail(fmt::format("its magic is {:#010x}, expected {:#010x}", magic, MQCORE_MAGIC));
    const auto table_bytes = support::unsigned_or(table, "size", 0);
    if (table_bytes < offsetof(mqcore_driver, info))
        return fail(
            fmt::format("its table has {} bytes: too short to hold a version", table_bytes));
    if (support::unsigned_or(table, "abi_major", 0) != MQCORE_ABI_MAJOR)
        return pass(); // what it should be is known for our major alone
    if (table_bytes < driver::kTableBytes)
        return fail(fmt::format("its table has {} bytes, that of ABI 1.0 has {}", table_bytes,
                                driver::kTableBytes));
    const Json info = part(facts, "info");
    if (!info.is_null() && support::unsigned_or(info, "size", 0) < driver::kInfoBytes)
        return fail(fmt::format("its info has {} bytes, that of ABI 1.0 has {}",
                                support::unsigned_or(info, "size", 0), driver::kInfoBytes));
    return pass();
}

Verdict abi_version(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    const Json table = part(facts, "table");
    const auto major = support::unsigned_or(table, "abi_major", 0);
    const auto minor = support::unsigned_or(table, "abi_minor", 0);
    const auto needs = support::unsigned_or(table, "needs_host_minor", 0);
    const std::string ours =
        fmt::format("this mqcore speaks {}.{}", MQCORE_ABI_MAJOR, MQCORE_ABI_MINOR);
    if (major != MQCORE_ABI_MAJOR)
        return fail(fmt::format("it is built for driver ABI {}.{}, {}", major, minor, ours));
    if (needs > MQCORE_ABI_MINOR)
        return fail(fmt::format("it needs driver ABI {}.{} or newer, {}", major, needs, ours));
    return pass(fmt::format("{}.{}", major, minor));
}

Verdict functions_present(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    const Json missing = part(part(facts, "table"), "missing");
    if (!missing.is_array() || missing.get_array().empty())
        return pass();
    std::vector<std::string> names;
    for (const Json& name : missing.get_array())
        names.emplace_back(name.get_string());
    return fail(fmt::format("null in its table: {}", fmt::join(names, ", ")));
}

Verdict info_valid(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    const Json info = part(facts, "info");
    const auto number = [&](std::string_view key) { return support::unsigned_or(info, key, 0); };
    const std::string id = support::text_or(info, "id", "");
    if (!driver::is_id(id))
        return fail(fmt::format("its id is '{}': write it with a-z, 0-9 and - alone", id));
    if (support::text_or(info, "library", "").empty())
        return fail("it does not name its client library");
    if (number("shape") < MQCORE_SHAPE_SYNC || number("shape") > MQCORE_SHAPE_AWAITED)
        return fail(fmt::format("its shape is {}", number("shape")));
    if ((number("protocols") & (MQCORE_V311 | MQCORE_V5)) == 0)
        return fail("it claims no protocol");
    if (number("publish_qos") == 0 && number("subscribe_qos") == 0)
        return fail("it claims neither to publish nor to subscribe");
    const bool publishes_qos0 = number("publish_qos") & MQCORE_QOS0;
    const auto completion = number("qos0_completion");
    if (publishes_qos0 &&
        (completion < MQCORE_QOS0_HANDED_OVER || completion > MQCORE_QOS0_DRAINED))
        return fail(
            fmt::format("it publishes at QoS 0, and its qos0_completion is {}", completion));
    if (!publishes_qos0 && completion != 0)
        return fail(
            fmt::format("it does not publish at QoS 0, and its qos0_completion is {}", completion));
    return pass();
}

// The table and the claims before and after create(): a claim that changes cannot gate a plan.
Verdict info_constant(Bench& bench) {
    Trial trial(bench);
    const auto look = [&](Json& facts) {
        const Step step = trial.inspect();
        if (const Json* told = support::find(step.event, "facts"))
            facts = *told;
        return step.trouble;
    };
    Json before, after;
    if (const auto trouble = look(before))
        return {trouble->outcome, trouble->text};
    // A create() that does not work is the matter of another check.
    after = before;
    if (trial.prepare(bench.specification(measure::Protocol::v311, closed_port(bench))))
        if (const auto trouble = look(after))
            return {trouble->outcome, trouble->text};
    for (const Json& facts : {before, after})
        if (!support::boolean_or(facts, "is_same_table", false))
            return fail("mqcore_driver_entry() returns another table each time");
    for (const std::string_view what : {"table", "info"})
        if (const Json was = part(before, what), is = part(after, what); was != is)
            return fail(fmt::format("its {} is another after create(): {}, it was {}", what,
                                    support::print_json(is), support::print_json(was)));
    return pass();
}

Verdict starts_no_thread(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    const auto started = support::unsigned_or(facts, "threads_started", 0);
    return started == 0
               ? pass()
               : Verdict{Outcome::warning, fmt::format("opening it started {} {}", started,
                                                       started == 1 ? "thread" : "threads")};
}

// The best of three: a busy machine makes one slow, a slow library all.
Verdict listed_in_time(Bench& bench) {
    constexpr Nanoseconds kLimit = 100 * support::kMillisecond;
    Nanoseconds best = ~Nanoseconds{0};
    for (int round = 0; round < 3 && best > kLimit; ++round) {
        const auto [facts, unavailable] = facts_of(bench);
        if (unavailable)
            return *unavailable;
        best = std::min<Nanoseconds>(best, support::unsigned_or(facts, "listed_ns", 0));
    }
    return best <= kLimit ? pass()
                          : Verdict{Outcome::warning,
                                    fmt::format("opening it and asking for its table takes {} ms",
                                                best / support::kMillisecond)};
}

Verdict info_equals_descriptor(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    std::string difference = driver::difference(bench.subject().descriptor, part(facts, "info"));
    return difference.empty() ? pass() : fail(std::move(difference));
}

constexpr Check kChecks[] = {
    {"static", "descriptor-valid", "driver.toml is there and can be read", "", Place::file,
     descriptor_valid},
    {"static", "exports-entry-only", "the library exports its entry and nothing else", "",
     Place::file, exports_entry_only},
    {"static", "no-executable-stack", "the library does not ask for an executable stack", "",
     Place::file, no_executable_stack},
    {"static", "loads", "the library opens, with every symbol resolved", "", Place::library, loads},
    {"table", "entry-point", "mqcore_driver_entry() is exported and returns a table", "loads",
     Place::library, entry_point},
    {"table", "magic-and-size", "the table is a driver's, and no shorter than its version",
     "entry-point", Place::library, magic_and_size},
    {"table", "abi-version", "the table's ABI is one that this mqcore speaks", "magic-and-size",
     Place::library, abi_version},
    {"table", "functions-present", "every required pointer of the table is set", "abi-version",
     Place::library, functions_present},
    {"table", "info-valid", "id, library and claims are complete and within their ranges",
     "functions-present", Place::library, info_valid},
    {"table", "info-equals-descriptor", "mqcore_info and driver.toml say the same", "info-valid",
     Place::worker, info_equals_descriptor},
    {"table", "info-constant", "the table and what it says are the same after create()",
     "info-valid", Place::worker, info_constant},
    {"table", "starts-no-thread", "opening the library starts no thread", "entry-point",
     Place::library, starts_no_thread},
    {"table", "listed-in-time", "opening the library and its entry take less than 100 ms",
     "entry-point", Place::library, listed_in_time},
};

} // namespace

std::span<const Check> table_checks() { return kChecks; }

} // namespace mqcore::conformance
