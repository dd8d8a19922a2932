#include "conformance/check_driver.hpp"

#include "conformance/checks.hpp"
#include "driver/client_reference.hpp"
#include "driver/descriptor_file.hpp"
#include "driver/environment.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>

namespace mqcore::conformance {
namespace {

using support::Error;
using support::ErrorCode;
using support::Result;

std::vector<const Check*> every_check() {
    std::vector<const Check*> checks;
    for (const auto group : {table_checks(), life_checks(), traffic_checks(), claim_checks()})
        for (const Check& check : group)
            checks.push_back(&check);
    return checks;
}

Result<Subject> subject_named(const std::string& name, const driver::Catalogue& catalogue);
Result<void> find_environment(Subject& subject, const driver::Catalogue& catalogue,
                              const driver::EnvironmentOptions& options);
Result<std::vector<const Check*>> chosen_checks(const std::vector<std::string>& only);
// Why a check is not run, or nothing.
std::string why_skipped(const Check& check, const Bench& bench,
                        const std::map<std::string_view, Outcome>& outcomes);

} // namespace

std::vector<CheckText> all_checks() {
    std::vector<CheckText> texts;
    for (const Check* check : every_check())
        texts.push_back({check->group, check->id, check->says});
    return texts;
}

Result<CheckReport> check_driver(const std::string& name, const driver::Catalogue& catalogue,
                                 const CheckOptions& options) {
    Result<std::vector<const Check*>> checks = chosen_checks(options.only);
    if (!checks)
        return std::move(checks).error();
    Result<Subject> subject = subject_named(name, catalogue);
    if (!subject)
        return std::move(subject).error();
    if (Result<void> found = find_environment(*subject, catalogue, options.environment); !found)
        return std::move(found).error();
    Result<std::unique_ptr<Bench>> made = Bench::make(*std::move(subject), options);
    if (!made)
        return std::move(made).error();
    Bench& bench = **made;

    CheckReport report{.driver = bench.subject().descriptor.id,
                       .name = name,
                       .library = bench.subject().descriptor.library_file,
                       .results = {}};
    std::map<std::string_view, Outcome> outcomes;
    for (const Check* check : *checks) {
        const std::string skipped = why_skipped(*check, bench, outcomes);
        Verdict verdict = skipped.empty() ? check->run(bench) : Verdict{Outcome::skipped, skipped};
        if (bench.broken())
            return *bench.broken();
        outcomes[check->id] = verdict.outcome;
        report.results.push_back({.group = std::string(check->group),
                                  .id = std::string(check->id),
                                  .says = std::string(check->says),
                                  .outcome = verdict.outcome,
                                  .detail = std::move(verdict.detail)});
        if (options.on_result)
            options.on_result(report.results.back());
    }
    return report;
}

namespace {

// A driver.toml that cannot be used is a finding of the check, not an end of checking: a library that
// was named by its path is still looked at.
Result<Subject> subject_named(const std::string& name, const driver::Catalogue& catalogue) {
    Subject subject;
    subject.name = name;
    if (Result<driver::Descriptor> found = driver::client_named(name, catalogue)) {
        subject.descriptor = *std::move(found);
        subject.has_descriptor = true;
        return subject;
    } else if (const std::filesystem::path path(name);
               path.extension() != ".so" || !std::filesystem::is_regular_file(path)) {
        return std::move(found).error();
    }
    subject.descriptor.library_file = std::filesystem::absolute(name);
    subject.descriptor.folder = subject.descriptor.library_file.parent_path();
    driver::ReadDescriptor read = driver::read_descriptor(subject.descriptor.folder);
    subject.descriptor.id = read.id;
    subject.diagnostics = std::move(read.diagnostics);
    if (read.descriptor)
        subject.diagnostics.push_back(
            {.file = "driver.toml",
             .message = fmt::format("its file is '{}', not '{}'",
                                    read.descriptor->library_file.filename().string(),
                                    subject.descriptor.library_file.filename().string())});
    return subject;
}

Result<void> find_environment(Subject& subject, const driver::Catalogue& catalogue,
                              const driver::EnvironmentOptions& options) {
    const driver::Host* host = catalogue.host(subject.descriptor.host);
    if (!subject.has_descriptor || !driver::needs_environment(host))
        return {};
    Result<driver::Environment> environment =
        driver::environment_status(subject.descriptor, host, options);
    if (!environment)
        return std::move(environment).error();
    if (!environment->is_ready)
        return Error{ErrorCode::host,
                     fmt::format("the environment of '{}' is not ready: {}", subject.descriptor.id,
                                 environment->reason),
                     fmt::format("mqcore envs sync --clients {}", subject.name)};
    subject.environment = environment->path.string();
    return {};
}

Result<std::vector<const Check*>> chosen_checks(const std::vector<std::string>& only) {
    const std::vector<const Check*> all = every_check();
    if (only.empty())
        return all;
    std::vector<std::string> ids;
    for (const Check* check : all)
        ids.emplace_back(check->id);
    for (const std::string& id : only)
        if (std::ranges::find(ids, id) == ids.end()) {
            const auto near = support::nearest(id, ids);
            return Error{ErrorCode::wrong_input, fmt::format("there is no check '{}'", id),
                         near ? fmt::format("did you mean '{}'?", *near)
                              : fmt::format("there are: {}", fmt::join(ids, ", "))};
        }
    std::vector<const Check*> chosen;
    std::ranges::copy_if(all, std::back_inserter(chosen), [&](const Check* check) {
        return std::ranges::find(only, check->id) != only.end();
    });
    return chosen;
}

std::string why_skipped(const Check& check, const Bench& bench,
                        const std::map<std::string_view, Outcome>& outcomes) {
    if (check.place > Place::library && !bench.subject().has_descriptor)
        return "without a driver.toml nothing is known of what the driver claims";
    if (check.place == Place::network && bench.subject().descriptor.is_harness_floor)
        return "a null client has no network";
    const auto needed = outcomes.find(check.needs);
    if (needed != outcomes.end() && needed->second != Outcome::pass &&
        needed->second != Outcome::warning)
        return fmt::format("'{}' did not pass", check.needs);
    return {};
}

} // namespace
} // namespace mqcore::conformance
