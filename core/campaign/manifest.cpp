#include "campaign/manifest.hpp"

#include "campaign/contract.hpp"
#include "campaign/revision.hpp"
#include "campaign/wiring.hpp"
#include "support/file.hpp"
#include "support/subprocess.hpp"
#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace mqcore::campaign {
namespace {

namespace fs = std::filesystem;
using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Result;

JsonArray texts(const std::vector<std::string>& values) {
    return JsonArray(values.begin(), values.end());
}

JsonArray qos_levels(std::uint32_t bits) {
    JsonArray levels;
    for (unsigned qos = 0; qos <= 2; ++qos)
        if (bits & 1u << qos)
            levels.push_back(qos);
    return levels;
}

JsonObject claims_json(const driver::Claims& claims) {
    return {{"shape", driver::name_of_shape(claims.shape)},
            {"protocols", texts(driver::names_of_protocols(claims.protocols))},
            {"publish_qos", qos_levels(claims.publish_qos)},
            {"subscribe_qos", qos_levels(claims.subscribe_qos)},
            {"features", texts(driver::names_of_features(claims.features))},
            {"max_window", claims.max_window},
            {"qos0_completion", driver::name_of_qos0_completion(claims.qos0_completion)}};
}

// `linked` by the library: clients of one host or driver share it, and reading it again takes as long.
using LinkedHashes = std::map<fs::path, JsonObject>;

Result<Json> client_json(const driver::Descriptor& client, const ClientSetup& setup,
                         LinkedHashes& linked) {
    Result<JsonObject> hashes = hashes_of_driver(client);
    if (!hashes)
        return std::move(hashes).error();
    if (!linked.contains(client.library_file)) {
        Result<JsonObject> found = hashes_of_linked(client);
        if (!found)
            return std::move(found).error();
        linked[client.library_file] = std::move(*found);
    }
    JsonObject options;
    for (const auto& [key, value] : setup.options)
        options[key] = value;
    const Json control_of = setup.control_of.empty() ? Json(nullptr) : Json(setup.control_of);
    const auto text_or_null = [](const std::string& text) {
        return text.empty() ? Json(nullptr) : Json(text);
    };
    const std::string release =
        client.choice.is_locked() ? ""
                                  : client.id.substr(client.id.find('@') + 1,
                                                     client.id.find('#') - client.id.find('@') - 1);
    return Json(
        JsonObject{{"id", client.id},
                   {"control_of", control_of},
                   {"driver", client.driver_id},
                   {"variant", text_or_null(client.variant.name)},
                   {"version", text_or_null(client.choice.version)},
                   {"checkout", client.choice.checkout.empty() ? Json(nullptr) : Json(release)},
                   {"library", client.library},
                   {"summary", client.summary},
                   {"package", client.package},
                   {"contract", contract_of(client, *hashes)},
                   {"claims", claims_json(client.claims)},
                   {"files", std::move(*hashes)},
                   {"linked", linked[client.library_file]},
                   {"environment", setup.environment_facts},
                   {"options", std::move(options)}});
}

// What this mqcore judges by, so that a later one can tell a row that it added from one that was removed.
JsonObject table_json() {
    const auto ids = [](const auto& entries) {
        JsonArray all;
        for (const auto& entry : entries)
            all.emplace_back(entry.id);
        return all;
    };
    return {{"checks", ids(verdict::checks())},
            {"flags", ids(verdict::flags())},
            {"metrics", ids(verdict::metrics())}};
}

JsonObject scenario_json(const scenario::Scenario& scenario, const std::string& name) {
    return {{"suite", scenario.suite},
            {"title", scenario.title},
            {"file", name},
            {"sha256", scenario.sha256}};
}

enum class Below { left_out, taken };

// Of the files in a folder, and of those below it when they are taken; sorted by name. Python makes its caches
// itself.
Result<void> add_hashes(JsonObject& hashes, const fs::path& folder, Below below,
                        const std::string& prefix) {
    std::vector<fs::path> files;
    std::error_code why;
    for (fs::recursive_directory_iterator entry(folder, why), end; !why && entry != end;
         entry.increment(why)) {
        if (below == Below::left_out || entry->path().filename() == "__pycache__")
            entry.disable_recursion_pending();
        if (entry->is_regular_file())
            files.push_back(entry->path());
    }
    if (why)
        return support::Error{support::ErrorCode::host,
                              "cannot read the driver folder '" + folder.string() +
                                  "': " + why.message(),
                              {}};
    std::ranges::sort(files);
    for (const fs::path& file : files) {
        Result<std::string> hash = support::sha256_of_file(file);
        if (!hash)
            return std::move(hash).error();
        hashes[prefix + file.lexically_relative(folder).string()] = *hash;
    }
    return {};
}

} // namespace

std::vector<std::string> scenario_names(const std::vector<scenario::Scenario>& scenarios) {
    std::vector<std::string> names;
    for (const scenario::Scenario& scenario : scenarios) {
        std::string name = fs::path(scenario.file).filename().string();
        if (std::ranges::find(names, name) != names.end())
            name = fmt::format("{}-{}", names.size() + 1, name);
        names.push_back(std::move(name));
    }
    return names;
}

Json to_json(const Refusal& refusal) {
    return JsonObject{{"client", refusal.client},
                      {"point", refusal.point},
                      {"missing", texts(refusal.missing)},
                      {"at_run_time", refusal.at_run_time}};
}

Result<JsonObject> hashes_of_driver(const driver::Descriptor& driver) {
    JsonObject hashes;
    // It may be the folder of a whole project, with what builds leave below it.
    if (Result<void> added = add_hashes(hashes, driver.folder, Below::left_out, ""); !added)
        return std::move(added).error();
    if (!driver.host_folder.empty())
        if (Result<void> added = add_hashes(hashes, driver.host_folder, Below::taken, "host/");
            !added)
            return std::move(added).error();
    return hashes;
}

// `ldd` loads as the dynamic linker will, with its configuration and paths, and runs nothing of the driver.
Result<JsonObject> hashes_of_linked(const driver::Descriptor& driver) {
    Result<support::ProgramOutput> listed =
        support::run_program({"ldd", driver.library_file.string()}, std::chrono::seconds(10));
    if (!listed)
        return std::move(listed).error();
    JsonObject hashes;
    std::istringstream lines(listed->out);
    for (std::string line; std::getline(lines, line);) {
        // "	libx.so.1 => /usr/lib/libx.so.1 (0x00007f6a5f925000)"; what is not found is told at its loading
        std::string name, arrow, file;
        if (!(std::istringstream(line) >> name >> arrow >> file) || arrow != "=>" ||
            !file.starts_with('/'))
            continue;
        Result<std::string> hash = support::sha256_of_file(file);
        if (!hash)
            return std::move(hash).error();
        hashes[name] = *hash;
    }
    return hashes;
}

Result<JsonObject> new_manifest(const CampaignOptions& options, const machine::MachineFacts& facts,
                                const machine::CorePlan& cores, const session::Session& session,
                                const std::vector<std::string>& not_comparable_because,
                                const std::string& id, const std::string& created) {
    JsonArray scenarios, points, clients, refused;
    const std::vector<std::string> names = scenario_names(options.scenarios);
    for (std::size_t i = 0; i < names.size(); ++i)
        scenarios.push_back(scenario_json(options.scenarios[i], names[i]));
    for (const scenario::Point& point : options.plan.points)
        points.push_back(to_json(point));
    LinkedHashes linked;
    for (const driver::Descriptor& client : options.plan.clients) {
        Result<Json> json = client_json(client, options.setups.at(client.id), linked);
        if (!json)
            return std::move(json).error();
        clients.push_back(std::move(*json));
    }
    for (const Refusal& refusal : options.plan.refusals)
        refused.push_back(to_json(refusal));
    JsonObject programs;
    for (const auto& [name, file] : {std::pair<const char*, fs::path>{"mqcore", "/proc/self/exe"},
                                     {"mqworker", options.worker_program},
                                     {"mqpeer", options.peer_program}}) {
        Result<std::string> hash = support::sha256_of_file(file);
        if (!hash)
            return std::move(hash).error();
        programs[name] = *hash;
    }
    const Json described = session.to_json();
    const auto part = [&](const char* key) {
        const Json* value = support::find(described, key);
        return value ? *value : Json(nullptr);
    };
    Json broker = part("broker");
    if (broker.is_object() && !options.external_broker_url.empty())
        broker.get_object()["url"] = options.external_broker_url;
    if (broker.is_object())
        broker.get_object()["witness"] = part("witness");
    return JsonObject{{"format", kResultsFormat},
                      {"id", id},
                      {"created", created},
                      {"state", "running"},
                      {"sessions", JsonArray{}},
                      {"mqcore", JsonObject{{"version", MQCORE_VERSION},
                                            {"revision", revision()},
                                            {"programs", std::move(programs)},
                                            {"table", table_json()}}},
                      {"profile", JsonObject{{"name", options.profile.name},
                                             {"warmup_ns", options.profile.warmup_ns},
                                             {"window_ns", options.profile.window_ns},
                                             {"drain_ns", options.profile.drain_ns},
                                             {"runs", options.plan.runs_each}}},
                      {"until", options.until
                                    ? Json(JsonObject{{"width", options.until->width},
                                                      {"runs_max", options.until->runs_max}})
                                    : Json(nullptr)},
                      {"seed", options.plan.seed},
                      {"comparable", not_comparable_because.empty()},
                      {"not_comparable_because", texts(not_comparable_because)},
                      {"scenarios", std::move(scenarios)},
                      {"points", std::move(points)},
                      {"clients", std::move(clients)},
                      {"refused", std::move(refused)},
                      {"machine", machine::to_json(facts)},
                      {"cores", machine::to_json(cores)},
                      {"broker", std::move(broker)},
                      {"ceilings", JsonArray{}}};
}

} // namespace mqcore::campaign
