#include "machine/profiler.hpp"

#include "support/subprocess.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>

namespace mqcore::machine {
namespace {

using support::Error;
using support::ErrorCode;

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kBlank = " \t";
constexpr std::chrono::seconds kTryLimit{10};

// Calls `visit` with each line, without its end.
template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        visit(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    return first == text.npos ? std::string_view()
                              : text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// "publish (client.py:12)" and "client.py:publish:12" without the 12.
std::string without_line_number(std::string_view frame) {
    const bool has_bracket = frame.ends_with(')');
    const std::string_view inner = has_bracket ? frame.substr(0, frame.size() - 1) : frame;
    const std::size_t before = inner.find_last_not_of(kDigits);
    if (before == inner.npos || before + 1 == inner.size() || inner[before] != ':')
        return std::string(frame);
    return std::string(inner.substr(0, before)) + (has_bracket ? ")" : "");
}

Hotspots sorted(const std::map<std::string, Hotspot>& by_name, std::uint64_t count) {
    Hotspots hotspots{.count = count, .functions = {}};
    for (const auto& [name, counts] : by_name)
        hotspots.functions.push_back({.function = name,
                                      .self = counts.self / static_cast<double>(count),
                                      .total = counts.total / static_cast<double>(count)});
    std::ranges::stable_sort(hotspots.functions, [](const Hotspot& a, const Hotspot& b) {
        return a.self != b.self ? a.self > b.self : a.total > b.total;
    });
    return hotspots;
}

constexpr const char* kFoldedHolds = "one line a stack, outermost function first, and its count";
constexpr const char* kFoldedOpen =
    "open it on speedscope.app, or `flamegraph.pl {file} > flame.svg`";

// Sampling rates are no divisors of the millisecond that mqcore paces by. Unwinding needs the stack itself
// (dwarf), since distributions build libraries without frame pointers. py-spy and perf are told to end by SIGINT:
// then each writes what it has.
const std::vector<Profiler>& table() {
    static const std::vector<Profiler> kTable = {
        {.name = "py-spy",
         .shows = "samples of Python and native functions, threads that wait left out",
         .host = "python",
         .how_to_get = "`pip install py-spy` or `pipx install py-spy`, so that it is in PATH",
         .present = {"py-spy", "--version"},
         .permitted = {},
         .how_to_permit = "",
         .around = {},
         .begin = {"py-spy", "record", "--native", "--threads", "--rate=101", "--format=raw",
                   "--output={folder}/stacks.folded", "--pid={pid}"},
         .end = {},
         .slowdown = 1,
         .counted = "samples",
         .files = {{"stacks.folded", kFoldedHolds, kFoldedOpen}},
         .hottest_in = "stacks.folded",
         .hottest = hottest_of_folded},
        {.name = "tachyon",
         .shows = "samples of Python functions, threads that wait left out",
         .host = "python",
         .how_to_get =
             "it comes with CPython 3.15 (`profiling.sampling`): choose one with --python",
         .present = {"{environment}/bin/python", "-c",
                     "import profiling.sampling, platform; print('Python', "
                     "platform.python_version())"},
         .permitted = {},
         .how_to_permit = "",
         .around = {},
         .begin = {"{environment}/bin/python", "-m", "profiling.sampling", "attach",
                   "--all-threads", "--native", "--mode=cpu", "--collapsed", "-o",
                   "{folder}/stacks.folded", "{pid}"},
         .end = {},
         .slowdown = 1,
         .counted = "samples",
         .files = {{"stacks.folded", kFoldedHolds, kFoldedOpen}},
         .hottest_in = "stacks.folded",
         .hottest = hottest_of_folded},
        {.name = "perf",
         .shows = "samples of native functions and of the kernel's",
         .host = "",
         .how_to_get = "`apt-get install linux-perf` on Debian, `linux-tools-generic` on Ubuntu",
         .present = {"perf", "--version"},
         .permitted = {"perf", "record", "--output=/dev/null", "--", "true"},
         .how_to_permit = "`sysctl kernel.perf_event_paranoid=1`, or run as root; a container may "
                          "forbid perf_event_open altogether",
         .around = {},
         .begin = {"perf", "record", "--freq=499", "--call-graph=dwarf", "--no-buildid-cache",
                   "--pid={pid}", "--output={folder}/perf.data"},
         .end = {},
         .slowdown = 1,
         .counted = "samples",
         .files = {{"perf.data", "every sample with its stack", "`perf report --input={file}`"},
                   {"report.txt",
                    "functions, most of their own first",
                    "any pager",
                    {"perf", "report", "--stdio", "--no-children", "--no-inline",
                     "--call-graph=none", "--input={folder}/perf.data"}},
                   {"stacks.folded",
                    kFoldedHolds,
                    kFoldedOpen,
                    {"perf", "script", "--no-inline", "--fields=comm,tid,ip,sym,dso",
                     "--input={folder}/perf.data"},
                    fold_perf_script}},
         .hottest_in = "stacks.folded",
         .hottest = hottest_of_folded},
        // Outside of the window the client runs without instrumentation, a few times slower than by itself
        // instead of fifty times.
        {.name = "callgrind",
         .shows = "instructions of native functions, counted and not sampled",
         .host = "",
         .how_to_get = "`apt-get install valgrind`",
         .present = {"valgrind", "--version"},
         .permitted = {},
         .how_to_permit = "",
         .around = {"valgrind", "--tool=callgrind", "--instr-atstart=no", "--fair-sched=try",
                    "--callgrind-out-file={folder}/callgrind.out"},
         .begin = {"vgdb", "--pid={pid}", "--wait=10", "instrumentation", "on"},
         .end = {"vgdb", "--pid={pid}", "--wait=10", "instrumentation", "off"},
         .slowdown = 10,
         .counted = "instructions",
         .files = {{"callgrind.out", "instructions by function, line and call",
                    "`kcachegrind {file}`, or `callgrind_annotate {file}`"},
                   {"report.txt",
                    "functions, most of their own first",
                    "any pager",
                    {"callgrind_annotate", "--auto=no", "--inclusive=no", "--threshold=99",
                     "{folder}/callgrind.out"}}},
         .hottest_in = "report.txt",
         .hottest = hottest_of_annotated},
    };
    return kTable;
}

} // namespace

std::span<const Profiler> profilers() { return table(); }

support::Result<const Profiler*> profiler_named(std::string_view name) {
    std::vector<std::string> names;
    for (const Profiler& profiler : profilers()) {
        if (profiler.name == name)
            return &profiler;
        names.emplace_back(profiler.name);
    }
    const auto near = support::nearest(name, names);
    const std::string all = fmt::format("tools: {}", fmt::join(names, ", "));
    return Error{ErrorCode::wrong_input, fmt::format("unknown tool '{}'", support::brief(name)),
                 near ? fmt::format("did you mean '{}'?  ({})", *near, all) : all};
}

support::Result<std::string> version_of(const Profiler& profiler, const std::string& environment) {
    const Filling fillings[] = {{"environment", environment}};
    const auto output = support::run_program(filled(profiler.present, fillings), kTryLimit);
    if (!output || output->exit_code != 0)
        return Error{ErrorCode::host, fmt::format("{} is not here", profiler.name),
                     profiler.how_to_get};
    if (!profiler.permitted.empty()) {
        const auto tried = support::run_program(filled(profiler.permitted, fillings), kTryLimit);
        if (!tried || tried->exit_code != 0)
            return Error{ErrorCode::host,
                         fmt::format("{} may not look at processes here", profiler.name),
                         profiler.how_to_permit};
    }
    const std::string_view text = output->out.empty() ? output->err : output->out;
    const std::string_view version = trimmed(text.substr(0, text.find('\n')));
    // "perf version 6.1.192", "valgrind-3.19.0"
    return std::string(version.substr(std::min(version.find_first_of(kDigits), version.size())));
}

std::string filled(std::string text, std::span<const Filling> fillings) {
    for (const auto& [place, value] : fillings)
        text = support::replace_all(std::move(text), fmt::format("{{{}}}", place), value);
    return text;
}

Command filled(Command command, std::span<const Filling> fillings) {
    for (std::string& argument : command)
        argument = filled(std::move(argument), fillings);
    return command;
}

Hotspots hottest_of_folded(std::string_view folded) {
    std::map<std::string, Hotspot> by_name;
    std::uint64_t all = 0;
    each_line(folded, [&](std::string_view line) {
        const std::size_t gap = line.find_last_of(' ');
        std::uint64_t count = 0;
        if (gap == line.npos ||
            std::from_chars(line.data() + gap + 1, line.data() + line.size(), count).ptr !=
                line.data() + line.size())
            return;
        all += count;
        std::string_view stack = line.substr(0, gap);
        std::set<std::string> seen; // a function that calls itself counts once
        for (;;) {
            const std::size_t end = std::min(stack.find(';'), stack.size());
            std::string name = without_line_number(stack.substr(0, end));
            if (seen.insert(name).second)
                by_name[name].total += static_cast<double>(count);
            if (end == stack.size()) {
                by_name[name].self += static_cast<double>(count);
                return;
            }
            stack.remove_prefix(end + 1);
        }
    });
    return sorted(by_name, all);
}

Hotspots hottest_of_annotated(std::string_view annotated) {
    std::map<std::pair<std::string, std::string>, double> counts; // by function and object
    std::map<std::string, std::string> object_of;                 // of a function that is in one
    std::uint64_t all = 0;
    each_line(annotated, [&](std::string_view line) {
        line = trimmed(line);
        const std::size_t gap = line.find_first_of(kBlank);
        if (gap == line.npos || line.find_first_not_of("0123456789,") != gap)
            return;
        std::uint64_t count = 0;
        for (const char digit : line.substr(0, gap))
            if (digit != ',')
                count = count * 10 + static_cast<std::uint64_t>(digit - '0');
        std::string_view name = trimmed(line.substr(gap));
        if (name.starts_with('(')) // its share, in newer versions: "(12.3%)"
            if (const std::size_t end = name.find("%)"); end != name.npos)
                name = trimmed(name.substr(end + 2));
        if (name == "PROGRAM TOTALS") {
            all = count;
            return;
        }
        // "./malloc/malloc.c:malloc [/usr/lib/libc.so.6]", a second level of recursion as "malloc'2"
        std::string_view object;
        if (const std::size_t open = name.rfind(" ["); open != name.npos && name.ends_with(']')) {
            object = name.substr(open + 2, name.size() - open - 3);
            object.remove_prefix(object.rfind('/') + 1); // npos + 1 is 0
            name = name.substr(0, open);
        }
        std::size_t colon = name.find(':');
        while (colon != name.npos && name.substr(colon, 2) == "::")
            colon = name.find(':', colon + 2);
        std::string_view function = name.substr(colon == name.npos ? 0 : colon + 1);
        if (const std::size_t level = function.find_last_not_of(kDigits);
            level != function.npos && level + 1 < function.size() && function[level] == '\'')
            function = function.substr(0, level);
        counts[{std::string(function), std::string(object)}] += static_cast<double>(count);
        if (!object.empty())
            object_of.emplace(function, object);
    });
    if (all == 0)
        return {};
    // Some lines of a function come without its object.
    std::map<std::string, Hotspot> by_name;
    for (const auto& [key, count] : counts) {
        const auto& [function, object] = key;
        const std::string in = object.empty() ? object_of[function] : object;
        by_name[in.empty() ? function : fmt::format("{} ({})", function, in)].self += count;
    }
    return sorted(by_name, all);
}

std::string fold_perf_script(std::string_view script) {
    std::map<std::string, std::uint64_t> stacks;
    std::string thread, stack;
    const auto take = [&] {
        if (!thread.empty() && !stack.empty())
            ++stacks[thread + stack];
        thread.clear();
        stack.clear();
    };
    each_line(script, [&](std::string_view line) {
        const std::string_view text = trimmed(line);
        if (text.empty())
            return take();
        if (line.front() != '\t' && thread.empty()) { // "mqworker  4711"
            const std::size_t gap = text.find_last_of(kBlank);
            thread = text.substr(0, text.find_last_not_of(kBlank, gap) + 1);
            return;
        }
        // "   24eb04 function (/usr/lib/libx.so)", innermost first
        const std::size_t gap = text.find(' ');
        const std::size_t open = text.rfind(" (");
        if (gap == text.npos || open == text.npos || open <= gap)
            return;
        std::string_view object = text.substr(open + 2, text.size() - open - 3);
        if (object.front() == '/')
            object.remove_prefix(object.rfind('/') + 1);
        std::string frame = fmt::format(";{} ({})", text.substr(gap + 1, open - gap - 1), object);
        std::replace(frame.begin() + 1, frame.end(), ';', ':');
        stack.insert(0, frame);
    });
    take();
    std::string folded;
    for (const auto& [each, count] : stacks)
        folded += fmt::format("{} {}\n", each, count);
    return folded;
}

} // namespace mqcore::machine
