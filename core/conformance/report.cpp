#include "conformance/check_driver.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::conformance {
namespace {

struct OutcomeText {
    Outcome outcome;
    std::string_view name;
    std::string_view colour; // ANSI
};
constexpr OutcomeText kOutcomes[] = {
    {Outcome::pass, "pass", "32"},       {Outcome::fail, "fail", "31"},
    {Outcome::crashed, "crashed", "31"}, {Outcome::timed_out, "timed-out", "31"},
    {Outcome::skipped, "skipped", "2"},  {Outcome::warning, "warning", "33"},
};

const OutcomeText& text_of(Outcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::size_t count_of(const CheckReport& report, auto&& holds) {
    return static_cast<std::size_t>(std::ranges::count_if(report.results, holds));
}

} // namespace

std::string_view name_of(Outcome outcome) { return text_of(outcome).name; }

bool is_breach(Outcome outcome) {
    return outcome == Outcome::fail || outcome == Outcome::crashed || outcome == Outcome::timed_out;
}

bool conforms(const CheckReport& report) {
    return std::ranges::none_of(
        report.results, [](const CheckResult& result) { return is_breach(result.outcome); });
}

support::Json to_json(const CheckReport& report) {
    support::JsonArray checks;
    for (const CheckResult& result : report.results)
        checks.push_back(support::JsonObject{{"group", result.group},
                                             {"id", result.id},
                                             {"says", result.says},
                                             {"outcome", name_of(result.outcome)},
                                             {"detail", result.detail}});
    return support::JsonObject{{"driver", report.driver},
                               {"library", report.library.filename().string()},
                               {"conforms", conforms(report)},
                               {"checks", std::move(checks)}};
}

std::string print(const CheckReport& report, bool with_colour) {
    std::size_t widest = 0;
    for (const CheckResult& result : report.results)
        widest = std::max(widest, result.id.size());
    std::string out;
    for (const CheckResult& result : report.results) {
        const OutcomeText& text = text_of(result.outcome);
        const std::string word = fmt::format("{:<9}", text.name);
        out += with_colour ? fmt::format("\x1b[{}m{}\x1b[0m", text.colour, word) : word;
        out += fmt::format(" {:<9} {:<{}}  {}\n", result.group, result.id, widest, result.says);
        if (!result.detail.empty())
            out += fmt::format("{:>{}}  {}\n", "", widest + 20, result.detail);
        if (is_breach(result.outcome))
            out += fmt::format("{:>{}}  again: mqcore check-driver {} --only {}\n", "", widest + 20,
                               report.name, result.id);
    }
    const std::size_t breaches =
        count_of(report, [](const CheckResult& result) { return is_breach(result.outcome); });
    const std::size_t skipped = count_of(
        report, [](const CheckResult& result) { return result.outcome == Outcome::skipped; });
    const std::size_t run = report.results.size() - skipped;
    out += breaches == 0 ? fmt::format("'{}' keeps the contract: {} {}", report.driver, run,
                                       run == 1 ? "check" : "checks")
                         : fmt::format("'{}' breaks the contract: {} of {} checks", report.driver,
                                       breaches, run);
    return out + (skipped > 0 ? fmt::format(", {} skipped\n", skipped) : std::string("\n"));
}

} // namespace mqcore::conformance
