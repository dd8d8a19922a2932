#include "machine/condition.hpp"

#include "machine/proc_text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::machine {
namespace {

namespace fs = std::filesystem;
using support::Json;
using support::JsonArray;
using support::JsonObject;

// "0-3,8": the kernel's way of writing CPU lists.
std::optional<std::vector<int>> parse_cpus(std::string_view text) {
    std::vector<int> cpus;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t dash = part.find('-');
        const auto first = number_in<int>(part);
        const auto last =
            dash == std::string_view::npos ? first : number_in<int>(part.substr(dash + 1));
        if (!first || !last)
            return std::nullopt;
        for (int cpu = *first; cpu <= *last; ++cpu)
            cpus.push_back(cpu);
    }
    return cpus;
}

Condition::Cpu read_cpu(const fs::path& root, int number, Condition& condition) {
    const fs::path folder = root / fmt::format("sys/devices/system/cpu/cpu{}", number);
    Condition::Cpu cpu{.number = number, .governor = {}, .frequency_khz = {}, .siblings = {}};
    const auto note = [&](const char* name, std::string why) {
        condition.unavailable.emplace(name, std::move(why));
    };
    if (const auto governor = read_text(folder / "cpufreq/scaling_governor"))
        cpu.governor = *governor;
    else
        note("governor", why_no_frequency(root, governor.error().message));
    const auto frequency = read_text(folder / "cpufreq/scaling_cur_freq");
    cpu.frequency_khz = frequency ? number_in<std::uint64_t>(*frequency) : std::nullopt;
    if (!cpu.frequency_khz)
        note("frequency_khz", frequency ? "scaling_cur_freq is no number: " + *frequency
                                        : why_no_frequency(root, frequency.error().message));
    const auto siblings = read_text(folder / "topology/thread_siblings_list");
    cpu.siblings = siblings ? parse_cpus(*siblings) : std::nullopt;
    if (!cpu.siblings)
        note("siblings",
             siblings ? "thread_siblings_list has another form" : siblings.error().message);
    return cpu;
}

void read_load(const fs::path& root, Condition& condition) {
    const auto text = read_text(root / "proc/loadavg");
    std::array<double, 3> load{};
    std::string_view rest = text ? std::string_view(*text) : std::string_view();
    for (double& value : load) {
        const auto number = number_in<double>(rest);
        if (!number) {
            condition.unavailable["load_average"] =
                text ? "/proc/loadavg has another form" : text.error().message;
            return;
        }
        value = *number;
        rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
    }
    condition.load_average = load;
}

void note_temperature(Condition& condition, const std::string& sensor, const fs::path& file) {
    const auto text = read_text(file);
    const auto thousandths = text ? number_in<double>(*text) : std::nullopt;
    if (!thousandths)
        return; // a sensor that is asleep; the others tell
    const double celsius = *thousandths / 1000;
    const auto [place, is_new] = condition.temperatures.emplace(sensor, celsius);
    if (!is_new)
        place->second = std::max(place->second, celsius);
}

// Those of processors alone: asking a disk or a controller for its temperature may take milliseconds
// and wake it up.
void read_temperatures(const fs::path& root, Condition& condition) {
    constexpr std::string_view kChips[] = {"coretemp",    "k10temp",      "zenpower",
                                           "cpu_thermal", "x86_pkg_temp", "cpu-thermal",
                                           "soc_thermal"};
    constexpr struct {
        const char* folder;
        const char* name;  // file that tells what it is
        const char* begin; // of the files with a temperature, in 1/1000 °C
        const char* end;
    } kPlaces[] = {{"sys/class/hwmon", "name", "temp", "_input"},
                   {"sys/class/thermal", "type", "temp", ""}};
    for (const auto& place : kPlaces) {
        std::error_code none;
        for (const fs::directory_entry& chip : fs::directory_iterator(root / place.folder, none)) {
            const auto name = read_text(chip.path() / place.name);
            if (!name || std::ranges::find(kChips, *name) == std::end(kChips))
                continue;
            for (const fs::directory_entry& file : fs::directory_iterator(chip.path(), none)) {
                const std::string entry = file.path().filename().string();
                const bool is_one =
                    *place.end == 0 ? entry == place.begin
                                    : entry.starts_with(place.begin) && entry.ends_with(place.end);
                if (is_one)
                    note_temperature(condition, *name, file.path());
            }
        }
        if (!condition.temperatures.empty())
            return;
    }
    condition.unavailable["temperatures"] =
        "no sensor of a processor can be read (usual in virtual machines)";
}

} // namespace

support::Result<bool> read_turbo(const fs::path& root) {
    if (const auto no_turbo = read_text(root / "sys/devices/system/cpu/intel_pstate/no_turbo"))
        return *no_turbo == "0";
    if (const auto boost = read_text(root / "sys/devices/system/cpu/cpufreq/boost"))
        return *boost == "1";
    return support::Error{support::ErrorCode::host, "the kernel does not say", {}};
}

std::string why_no_frequency(const fs::path& root, const std::string& otherwise) {
    return fs::exists(root / "sys/devices/system/cpu/cpu0/cpufreq")
               ? otherwise
               : "the kernel offers no frequency control here (usual in virtual machines)";
}

Condition read_condition(const fs::path& root) {
    Condition condition;
    const auto online = read_text(root / "sys/devices/system/cpu/online");
    const auto numbers = online ? parse_cpus(*online) : std::nullopt;
    if (!numbers)
        condition.unavailable["cpus"] =
            online ? "/sys/devices/system/cpu/online has another form" : online.error().message;
    for (const int number : numbers.value_or(std::vector<int>()))
        condition.cpus.push_back(read_cpu(root, number, condition));
    if (const auto turbo = read_turbo(root))
        condition.has_turbo = *turbo;
    else
        condition.unavailable["turbo"] = turbo.error().message;
    read_load(root, condition);
    read_temperatures(root, condition);
    return condition;
}

Json to_json(const Condition& condition) {
    const auto or_null = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    JsonArray numbers, governors, frequencies, siblings;
    for (const Condition::Cpu& cpu : condition.cpus) {
        numbers.emplace_back(cpu.number);
        governors.push_back(or_null(cpu.governor));
        frequencies.push_back(or_null(cpu.frequency_khz));
        siblings.push_back(cpu.siblings
                               ? Json(JsonArray(cpu.siblings->begin(), cpu.siblings->end()))
                               : Json(nullptr));
    }
    JsonObject temperatures, unavailable;
    for (const auto& [sensor, celsius] : condition.temperatures)
        temperatures[sensor] = celsius;
    for (const auto& [name, why] : condition.unavailable)
        unavailable[name] = why;
    return JsonObject{{"cpus", JsonObject{{"number", std::move(numbers)},
                                          {"governor", std::move(governors)},
                                          {"frequency_khz", std::move(frequencies)},
                                          {"siblings", std::move(siblings)}}},
                      {"turbo", or_null(condition.has_turbo)},
                      {"load_average", condition.load_average
                                           ? Json(JsonArray(condition.load_average->begin(),
                                                            condition.load_average->end()))
                                           : Json(nullptr)},
                      {"temperatures", std::move(temperatures)},
                      {"unavailable", std::move(unavailable)}};
}

} // namespace mqcore::machine
