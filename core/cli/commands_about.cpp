// Commands that tell something and run nothing on a broker: clients, validate, explain, doctor.

#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/terminal.hpp"
#include "machine/doctor.hpp"
#include "report/table.hpp"
#include "report/text_table.hpp"
#include "scenario/reference.hpp"
#include "verdict/explain.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Result;

report::TableStyle terminal_style() {
    return {.format = report::Format::text, .use_colour = wants_colour(1)};
}

JsonArray texts(const std::vector<std::string>& values) {
    return JsonArray(values.begin(), values.end());
}

// Of the client library: as the environment's package, else as the driver's build found it. Empty: not
// known.
std::string version_of(const driver::Environment& environment, const driver::Descriptor& client) {
    const Json facts = environment.facts;
    const Json* packages = support::find(facts, "packages");
    const std::string installed =
        packages ? support::text_or(*packages, client.package, "") : std::string();
    return installed.empty() ? client.library_version : installed;
}

JsonArray variants_json(const driver::Descriptor& client) {
    JsonArray variants;
    for (const driver::Variant& variant : client.variants) {
        JsonObject options;
        for (const auto& [key, value] : variant.options)
            options[key] = value;
        variants.push_back(JsonObject{{"id", fmt::format("{}:{}", client.id, variant.name)},
                                      {"summary", variant.summary},
                                      {"options", std::move(options)}});
    }
    return variants;
}

int clients(bool wants_json, const driver::EnvironmentOptions& options) {
    const driver::Catalogue catalogue = Installation::find().catalogue();
    std::map<std::string, std::string> versions;
    JsonArray all;
    for (const driver::Descriptor& client : catalogue.drivers) {
        Result<driver::Environment> environment =
            driver::environment_status(client, catalogue.host(client.host), options);
        const bool is_ready = environment && environment->is_ready;
        const std::string version = is_ready ? version_of(*environment, client) : "";
        versions[client.id] = is_ready ? version : "not ready";
        all.push_back(JsonObject{
            {"id", client.id},
            {"library", client.library},
            {"summary", client.summary},
            {"version", version.empty() ? Json(nullptr) : Json(version)},
            {"shape", driver::name_of_shape(client.claims.shape)},
            {"protocols", texts(driver::names_of_protocols(client.claims.protocols))},
            {"publish_qos_bits", client.claims.publish_qos},
            {"subscribe_qos_bits", client.claims.subscribe_qos},
            {"features", texts(driver::names_of_features(client.claims.features))},
            {"qos0_completion", driver::name_of_qos0_completion(client.claims.qos0_completion)},
            {"variants", variants_json(client)},
            {"floor", client.is_harness_floor},
            {"ready", is_ready},
            {"reason", is_ready ? Json(nullptr)
                                : Json(environment ? environment->reason
                                                   : support::one_line(environment.error()))}});
    }
    if (wants_json)
        fmt::print("{}", support::print_json_pretty(all));
    else
        fmt::print("{}", report::clients_table(catalogue.drivers, versions, terminal_style()));
    return kDone;
}

int validate(const std::vector<std::string>& files, bool wants_keys, bool wants_schema) {
    if (wants_keys || wants_schema) {
        fmt::print("{}", wants_keys ? scenario::scenario_keys()
                                    : support::print_json_pretty(scenario::scenario_json_schema()));
        return kDone;
    }
    if (files.empty())
        return report_error({support::ErrorCode::wrong_input, "no scenario file was named",
                             "mqcore validate scenarios/core.toml"});
    const auto scenarios = load_or_complain(Installation::find(), files);
    if (!scenarios)
        return kWrongInput;
    for (const scenario::Scenario& scenario : *scenarios)
        fmt::print("{}: {} points, no errors\n", scenario.file, scenario.points.size());
    return kDone;
}

int explain(const std::string& id, const std::vector<std::string>& files) {
    const auto scenarios = load_or_complain(Installation::find(), files);
    if (!scenarios)
        return kWrongInput;
    Result<std::string> text = verdict::explain(id, *scenarios);
    if (!text)
        return report_error(text.error());
    fmt::print("{}", *text);
    return kDone;
}

int doctor(bool wants_json) {
    const Installation installation = Installation::find();
    const driver::Catalogue catalogue = installation.catalogue();
    machine::DoctorQuestions questions{.worker_program = installation.worker,
                                       .peer_program = installation.peer,
                                       .results_folder = "results",
                                       .environments = {}};
    for (const driver::Descriptor& client : catalogue.drivers)
        if (!client.host.empty()) {
            Result<driver::Environment> environment =
                driver::environment_status(client, catalogue.host(client.host));
            const bool is_ready = environment && environment->is_ready;
            questions.environments.push_back(
                {.name = client.id,
                 .is_ready = is_ready,
                 .detail = is_ready      ? version_of(*environment, client)
                           : environment ? environment->reason
                                         : support::one_line(environment.error())});
        }
    const std::vector<machine::Finding> findings = machine::examine(questions);
    if (wants_json) {
        fmt::print("{}", support::print_json_pretty(machine::to_json(findings)));
    } else {
        report::TextTable table({{"", report::Align::left},
                                 {"what", report::Align::left},
                                 {"seen", report::Align::left}});
        for (const machine::Finding& finding : findings) {
            using enum machine::Outcome;
            const report::Paint paint = finding.outcome == ok     ? report::Paint::green
                                        : finding.outcome == warn ? report::Paint::yellow
                                                                  : report::Paint::red;
            table.add({{std::string(machine::name_of(finding.outcome)), paint},
                       {finding.what},
                       {finding.detail}});
            if (!finding.mend.empty())
                table.add({{""}, {""}, {"→ " + finding.mend, report::Paint::dim}});
        }
        fmt::print("{}", table.print(report::Format::text, wants_colour(1)));
    }
    return machine::worst_of(findings) == machine::Outcome::fail ? kCannotHere : kDone;
}

} // namespace

std::function<int()> declare_clients(CLI::App& app) {
    auto wants_json = std::make_shared<bool>(false);
    auto options = std::make_shared<driver::EnvironmentOptions>();
    add_python_option(app, *options);
    app.add_flag("--json", *wants_json, "As JSON");
    return [=] { return clients(*wants_json, *options); };
}

std::function<int()> declare_validate(CLI::App& app) {
    auto files = std::make_shared<std::vector<std::string>>();
    auto wants_keys = std::make_shared<bool>(false);
    auto wants_schema = std::make_shared<bool>(false);
    app.add_option("scenario", *files, "Scenario files")->type_name("FILE");
    app.add_flag("--keys", *wants_keys, "Print every key of a scenario file instead");
    app.add_flag("--schema", *wants_schema, "Print the JSON Schema for editors instead");
    return [=] { return validate(*files, *wants_keys, *wants_schema); };
}

std::function<int()> declare_explain(CLI::App& app) {
    auto id = std::make_shared<std::string>();
    auto files =
        std::make_shared<std::vector<std::string>>(std::vector<std::string>{"scenarios/core.toml"});
    app.add_option("id", *id, "Id of a check, flag, metric, status or point")
        ->required()
        ->type_name("ID");
    app.add_option("--scenario", *files, "Scenario files whose points are known")
        ->capture_default_str()
        ->type_name("FILE");
    return [=] { return explain(*id, *files); };
}

std::function<int()> declare_doctor(CLI::App& app) {
    auto wants_json = std::make_shared<bool>(false);
    app.add_flag("--json", *wants_json, "As JSON");
    return [wants_json] { return doctor(*wants_json); };
}

} // namespace mqcore::cli
