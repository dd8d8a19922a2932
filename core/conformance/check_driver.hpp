#pragma once
// `mqcore check-driver`: whether a driver keeps the contract of mqcore/driver.h. Every check runs the
// driver in workers of its own, against a scripted server on loopback that does what no broker would
// (withhold an acknowledgement, grant a lower QoS, drop the connection). A driver that crashes, hangs
// or exits ends one worker and one check.

#include "driver/discovery.hpp"
#include "driver/environment.hpp"
#include "support/clock.hpp"
#include "support/json.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::conformance {

// warning: bad manners that do not spoil a measurement. skipped: the driver does not claim what the
// check exercises, or a check that it builds on did not pass.
enum class Outcome { pass, fail, crashed, timed_out, skipped, warning };

std::string_view name_of(Outcome outcome); // "pass", "timed-out", ...
bool is_breach(Outcome outcome);           // fail, crashed, timed_out

struct CheckText {
    std::string_view
        group; // "static", "table", "life", "source", "sink", "wire", "claims", "behaviour"
    std::string_view id;   // kebab-case
    std::string_view says; // what holds when it passes
};
// Every check, in the order in which they run.
std::vector<CheckText> all_checks();

struct CheckResult {
    std::string group;
    std::string id;
    std::string says;
    Outcome outcome = Outcome::pass;
    std::string detail; // empty when there is nothing to add
};

struct CheckReport {
    std::string driver;            // id
    std::string name;              // as the caller named it, for the command that repeats a check
    std::filesystem::path library; // what was loaded
    std::vector<CheckResult> results;
};
bool conforms(const CheckReport& report); // no breach

struct CheckOptions {
    std::filesystem::path worker_program, peer_program;
    driver::EnvironmentOptions environment; // where the driver needs one
    std::vector<std::string>
        only; // ids; empty: every check. What a check builds on is not run then
    // connect() should give up by itself after 10 s.
    support::Nanoseconds connect_limit_ns = 15 * support::kSecond;
    // For any other call, beyond the time it was asked to take.
    support::Nanoseconds patience_ns = 5 * support::kSecond;
    std::function<void(const CheckResult&)> on_result; // as they come; may be empty
};

// name: as in driver/client_reference.hpp, or the path of a library without a driver.toml. An Error
// only where nothing can be checked: no such driver, an unknown id in `only`, an environment that is
// not ready, programs of mqcore that do not start, an interrupt.
support::Result<CheckReport> check_driver(const std::string& name,
                                          const driver::Catalogue& catalogue,
                                          const CheckOptions& options);

// {"driver", "library", "conforms", "checks": [{"group", "id", "says", "outcome", "detail"}]}; `library` is the
// file's name, without its folder.
support::Json to_json(const CheckReport& report);
// One line a check, a breach with its detail and the command that repeats it, and a summary.
std::string print(const CheckReport& report, bool with_colour);

} // namespace mqcore::conformance
