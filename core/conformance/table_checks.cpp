// Checks of driver.toml, of the library and of its table. The library is opened by a worker, which
// reports what the table says; nothing of the driver but its entry runs.

#include "conformance/checks.hpp"
#include "driver/claim_names.hpp"
#include "driver/loaded_driver.hpp"

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

Verdict loads(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    return support::boolean_or(facts, "loads", false)
               ? pass()
               : fail(support::text_or(facts, "loader_text", "it cannot be opened"));
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
    return support::boolean_or(facts, "is_constant", false)
               ? pass()
               : fail("mqcore_driver_entry() returns another table each time: it is constant data");
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

Verdict info_equals_descriptor(Bench& bench) {
    const auto [facts, unavailable] = facts_of(bench);
    if (unavailable)
        return *unavailable;
    std::string difference = driver::difference(bench.subject().descriptor, part(facts, "info"));
    return difference.empty() ? pass() : fail(std::move(difference));
}

constexpr Check kChecks[] = {
    {"descriptor-valid", "driver.toml is there and can be read", "", Place::library,
     descriptor_valid},
    {"loads", "the library opens, with every symbol resolved", "", Place::library, loads},
    {"entry-point", "mqcore_driver_entry() is exported and returns one table", "loads",
     Place::library, entry_point},
    {"magic-and-size", "the table is a driver's, and no shorter than its version", "entry-point",
     Place::library, magic_and_size},
    {"abi-version", "the table's ABI is one that this mqcore speaks", "magic-and-size",
     Place::library, abi_version},
    {"functions-present", "every required pointer of the table is set", "abi-version",
     Place::library, functions_present},
    {"info-valid", "id, library and claims are complete and within their ranges",
     "functions-present", Place::library, info_valid},
    {"info-equals-descriptor", "mqcore_info and driver.toml say the same", "info-valid",
     Place::library, info_equals_descriptor},
};

} // namespace

std::span<const Check> table_checks() { return kChecks; }

} // namespace mqcore::conformance
