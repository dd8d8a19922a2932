#include "report/consumers.hpp"

#include "verdict/view.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace mqcore::report {
namespace {

using support::Json;
using verdict::Node;
using verdict::Status;

constexpr std::size_t kShown = 5; // other processes

// Cores that somebody kept busy, over the failed runs in which it is known.
struct Use {
    double sum = 0, most = 0;
    std::size_t runs = 0;
    void add(double cores) {
        sum += cores;
        most = std::max(most, cores);
        ++runs;
    }
    std::string text(std::string_view name) const {
        const double mean = sum / static_cast<double>(runs);
        return fmt::format("{} {:.2f}{}", name, mean,
                           most > mean + 0.005 ? fmt::format(" (up to {:.2f})", most) : "");
    }
};

struct Uses {
    std::map<std::string, Use> by_name;
    void add(const std::string& name, verdict::Number cores) {
        if (cores)
            by_name[name].add(*cores);
    }
    // Largest first.
    std::string text(std::size_t most_shown) const {
        std::vector<std::pair<std::string, Use>> sorted(by_name.begin(), by_name.end());
        std::ranges::stable_sort(sorted, std::ranges::greater{},
                                 [](const auto& each) { return each.second.sum; });
        std::vector<std::string> texts;
        for (const auto& [name, use] : sorted)
            if (texts.size() < most_shown && use.most >= 0.005)
                texts.push_back(use.text(name));
        return texts.empty() ? "nothing to speak of" : fmt::format("{}", fmt::join(texts, ", "));
    }
};

} // namespace

std::string consumers_text(std::span<const Json> runs, const TableStyle& style) {
    std::map<Status, std::size_t> failed;
    Uses parties, others, kernel;
    for (const Json& document : runs) {
        const Status status =
            verdict::status_of(support::text_or(document, "status", "")).value_or(Status::invalid);
        if (status == Status::valid)
            continue;
        ++failed[status];
        const verdict::RunView run(document);
        parties.add("client", run.client_use.cores(run.window_ns));
        parties.add("peer", run.peer_use.cores(run.window_ns));
        parties.add("broker", run.broker_use.cores(run.window_ns));
        for (const char* kind : {"softirq", "irq", "steal", "iowait"})
            kernel.add(kind, run.host.number(fmt::format("{}_cores", kind)));
        if (const Node top = run.host["top"]; top && top.json()->is_array())
            for (const Json& item : top.json()->get_array())
                others.add(Node(&item).text("name"), Node(&item).number("cores"));
    }
    if (failed.empty())
        return {};
    std::vector<std::string> counts;
    for (const auto& [status, count] : failed)
        counts.push_back(fmt::format("{} {}", count, verdict::name_of(status)));
    const bool is_markdown = style.format == Format::markdown;
    const auto line = [&](std::string_view what, const std::string& text) {
        return fmt::format("{}{}: {}\n", is_markdown ? "- " : "  ", what, text);
    };
    return fmt::format("\nCores in use behind the runs that failed ({}), mean over them:\n{}",
                       fmt::join(counts, ", "), is_markdown ? "\n" : "") +
           line("parties", parties.text(3)) + line("other processes", others.text(kShown)) +
           line("kernel, of no process", kernel.text(4));
}

} // namespace mqcore::report
