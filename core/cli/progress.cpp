#include "cli/progress.hpp"

#include "cli/terminal.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace mqcore::cli {
namespace {

std::string minutes(support::Nanoseconds ns) {
    const auto seconds = ns / support::kSecond;
    return seconds < 60 ? fmt::format("{} s", seconds)
                        : fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
}

} // namespace

Progress::Progress(const campaign::Plan& plan, bool is_quiet)
    : plan_(plan), is_quiet_(is_quiet), is_live_(is_terminal(2)) {}

Progress::~Progress() { clear_live_line(); }

void Progress::started(const campaign::CampaignOptions& options,
                       const std::filesystem::path& folder,
                       const std::vector<std::string>& not_comparable_because,
                       std::size_t runs_done) {
    const std::size_t runs = options.plan.runs.size();
    const support::Nanoseconds whole = campaign::estimate_ns(options.plan, options.profile);
    print_line(fmt::format("{} runs{}, about {}, results in {}", runs,
                           runs_done ? fmt::format(", {} of them done before", runs_done) : "",
                           minutes(whole * (runs - runs_done) / runs), folder.string()));
    for (const std::string& why : not_comparable_because)
        print_line("not comparable: " + why);
}

void Progress::run_started(const campaign::PlannedRun& run, std::size_t index,
                           support::Nanoseconds left_ns) {
    if (is_quiet_ || !is_live_)
        return;
    clear_live_line();
    fmt::print(stderr, "[{}/{}] {} · {} · run {} · {} left", index + 1,
               std::max(index + 1, plan_.runs.size()), plan_.points[run.point].id,
               plan_.clients[run.client].id, run.run, minutes(left_ns));
    std::fflush(stderr);
    has_live_line_ = true;
}

void Progress::run_ended(const campaign::PlannedRun& run, std::size_t index,
                         const support::Json& document, bool is_retried) {
    const std::string status = support::text_or(document, "status", "");
    const std::string reason = support::text_or(document, "reason", "");
    const support::Json* metrics = support::find(document, "metrics");
    const double rate = metrics ? support::number_or(*metrics, "rate", 0) : 0;
    print_line(fmt::format("[{}/{}] {} {} run {}: {}{}{}{}", index + 1,
                           std::max(index + 1, plan_.runs.size()), plan_.points[run.point].id,
                           plan_.clients[run.client].id, run.run, status,
                           rate > 0 ? fmt::format(", {:.0f} msgs/s", rate) : "",
                           reason.empty() ? "" : ": " + reason, is_retried ? " (once more)" : ""));
}

void Progress::note(const std::string& text) {
    clear_live_line();
    fmt::print(stderr, "mqcore: warning: {}\n", text);
}

void Progress::print_line(const std::string& text) {
    if (is_quiet_)
        return;
    clear_live_line();
    fmt::print(stderr, "{}\n", text);
}

void Progress::clear_live_line() {
    if (has_live_line_)
        fmt::print(stderr, "\r\x1b[K");
    has_live_line_ = false;
}

} // namespace mqcore::cli
