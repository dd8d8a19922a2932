#include "report/others.hpp"

#include "verdict/view.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::report {
namespace {

using support::Json;
using verdict::Node;

constexpr double kNoticeable = 0.05; // of a core

struct Taken {
    std::string name;
    double most = 0, sum = 0; // cores
    std::size_t runs = 0;
};

void note(std::vector<Taken>& taken, const std::string& name, double cores) {
    if (cores < kNoticeable)
        return;
    auto found = std::ranges::find(taken, name, &Taken::name);
    if (found == taken.end())
        found = taken.insert(taken.end(), {.name = name});
    found->most = std::max(found->most, cores);
    found->sum += cores;
    ++found->runs;
}

} // namespace

std::string others_behind_failures(std::span<const Json> runs, const TableStyle& style) {
    std::size_t failed = 0;
    std::vector<Taken> taken;
    for (const Json& document : runs) {
        const Node run(&document);
        const std::string status = run.text("status");
        if (status != name_of(verdict::Status::invalid) &&
            status != name_of(verdict::Status::not_sustained))
            continue;
        ++failed;
        const Node host = run["resources"]["host"];
        if (const Node top = host["top"]; top && top.json()->is_array())
            for (const Json& process : top.json()->get_array())
                note(taken, support::text_or(process, "name", ""),
                     support::number_or(process, "cores", 0));
        note(taken, "the kernel, for no process (interrupts, hypervisor)",
             host.number("kernel_busy_cores").value_or(0));
    }
    if (taken.empty())
        return {};
    std::ranges::stable_sort(taken, std::ranges::greater(), &Taken::sum);
    TextTable table({{"behind failed runs", Align::left},
                     {"most cores", Align::right},
                     {"runs", Align::right}});
    for (const Taken& one : taken)
        table.add({{one.name, Paint::bold},
                   {fmt::format("{:.2f}", one.most)},
                   {fmt::format("{}/{}", one.runs, failed)}});
    return fmt::format("\nWhat else ran while runs were invalid or not sustained:\n\n{}",
                       table.print(style.format, style.use_colour, 2));
}

} // namespace mqcore::report
