// Commands about drivers: envs, new-driver, check-driver, harness-cost.

#include "campaign/contract.hpp"
#include "campaign/harness_cost.hpp"
#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/terminal.hpp"
#include "conformance/check_driver.hpp"
#include "driver/claim_names.hpp"
#include "driver/client_reference.hpp"
#include "driver/project.hpp"
#include "report/text_table.hpp"
#include "support/text.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Json;
using support::Result;

struct EnvironmentRequest {
    std::vector<std::string> clients;
    driver::EnvironmentOptions options;
};

// The hosted clients among the named ones; every hosted driver when none is named.
Result<std::vector<driver::Descriptor>> hosted(const driver::Catalogue& catalogue,
                                               const std::vector<std::string>& names) {
    std::vector<driver::Descriptor> drivers;
    if (names.empty() || std::ranges::count(names, "all"))
        drivers = catalogue.drivers;
    for (const std::string& name : names)
        if (name != "all") {
            Result<driver::Descriptor> client = driver::client_named(name, catalogue);
            if (!client)
                return std::move(client).error();
            if (Result<void> added = driver::add_client(*std::move(client), drivers); !added)
                return std::move(added).error();
        }
    std::erase_if(drivers, [&](const driver::Descriptor& driver) {
        return !driver::needs_environment(catalogue.host(driver.host));
    });
    return drivers;
}

int sync(const EnvironmentRequest& request) {
    const driver::Catalogue catalogue = Installation::find().catalogue();
    Result<std::vector<driver::Descriptor>> drivers = hosted(catalogue, request.clients);
    if (!drivers)
        return report_error(drivers.error());
    int code = kDone;
    for (const driver::Descriptor& driver : *drivers) {
        Result<driver::Environment> environment =
            driver::sync_environment(driver, catalogue.host(driver.host), request.options);
        if (!environment)
            code = report_error(environment.error());
        else if (!environment->is_ready)
            code = report_error({support::ErrorCode::host,
                                 fmt::format("the environment of '{}' is not ready: {}", driver.id,
                                             environment->reason),
                                 {}});
        else
            fmt::print("{}: ready\n", driver.id);
    }
    return code;
}

int list_environments(const EnvironmentRequest&) {
    const driver::Catalogue catalogue = Installation::find().catalogue();
    for (const driver::Host& host : catalogue.hosts) {
        if (!driver::needs_environment(&host))
            continue;
        Result<Json> environments = driver::list_environments(host);
        if (!environments)
            return report_error(environments.error());
        fmt::print("{}", support::print_json_pretty(*environments));
    }
    return kDone;
}

int remove(const EnvironmentRequest& request) {
    const driver::Catalogue catalogue = Installation::find().catalogue();
    Result<std::vector<driver::Descriptor>> drivers = hosted(catalogue, request.clients);
    if (!drivers)
        return report_error(drivers.error());
    for (const driver::Descriptor& driver : *drivers) {
        if (driver.choice.is_locked() && !driver.variant.name.empty())
            return report_error(
                {support::ErrorCode::wrong_input,
                 fmt::format("'{}' has no environment of its own", driver.id),
                 fmt::format("`mqcore envs remove --clients {}` removes what it shares",
                             driver.driver_id)});
        Result<Json> removed = driver::remove_environment(driver, *catalogue.host(driver.host));
        if (!removed)
            return report_error(removed.error());
        fmt::print("{}: removed\n", driver.id);
    }
    return kDone;
}

int lock(const EnvironmentRequest& request) {
    const driver::Catalogue catalogue = Installation::find().catalogue();
    Result<std::vector<driver::Descriptor>> drivers = hosted(catalogue, request.clients);
    if (!drivers)
        return report_error(drivers.error());
    int code = kDone;
    for (const driver::Descriptor& driver : *drivers) {
        Result<Json> locked =
            driver.id == driver.driver_id
                ? driver::lock_packages(driver, *catalogue.host(driver.host), request.options)
                : Result<Json>(support::Error{
                      support::ErrorCode::wrong_input,
                      fmt::format("'{}' has no lock of its own", driver.id),
                      fmt::format("`mqcore envs lock --clients {}`", driver.driver_id)});
        if (!locked)
            code = report_error(locked.error());
        else
            fmt::print("{}: {} packages locked\n", driver.id,
                       support::unsigned_or(*locked, "packages", 0));
    }
    return code;
}

std::string ids_of(const std::vector<driver::Language>& languages) {
    std::string all;
    for (const driver::Language& language : languages)
        all += (all.empty() ? "" : ", ") + language.id;
    return all;
}

int new_driver(driver::NewProject wanted, const std::string& language_id) {
    const Installation installation = Installation::find();
    const Result<std::vector<driver::Language>> languages =
        driver::languages_in(installation.templates());
    if (!languages)
        return report_error(languages.error());
    const auto language = std::ranges::find(*languages, language_id, &driver::Language::id);
    if (language == languages->end())
        return report_error({support::ErrorCode::wrong_input,
                             fmt::format("there is no project in '{}'", language_id),
                             "languages: " + ids_of(*languages)});
    if (wanted.shape.empty())
        wanted.shape = language->shape;
    if (!std::ranges::count(language->shapes, wanted.shape))
        return report_error(
            {support::ErrorCode::wrong_input,
             fmt::format("there is no project of the shape '{}' in {}", wanted.shape, language->id),
             fmt::format("shapes: {}", fmt::join(language->shapes, ", "))});
    if (!driver::is_id(wanted.id) || wanted.id.front() == '-')
        return report_error({support::ErrorCode::wrong_input,
                             fmt::format("'{}' is no name for a driver", wanted.id),
                             "a name has letters a-z, digits and '-', and no '-' in front"});
    const driver::Catalogue catalogue = installation.catalogue();
    if (const driver::Descriptor* taken = catalogue.driver(wanted.id))
        return report_error({support::ErrorCode::wrong_input,
                             fmt::format("there is a driver '{}' already, in '{}'", wanted.id,
                                         taken->folder.string()),
                             "choose another name"});
    const std::filesystem::path shown =
        wanted.folder.empty() ? std::filesystem::path(wanted.id) : wanted.folder;
    wanted.folder = std::filesystem::absolute(shown).lexically_normal();
    if (!wanted.folder.has_filename())
        wanted.folder = wanted.folder.parent_path();
    const Result<std::vector<std::string>> files = driver::make_project(wanted, *language);
    if (!files)
        return report_error(files.error());

    fmt::print("{}: {}, shape {}\n ", shown.string(), language->summary, wanted.shape);
    for (const std::string& file : *files)
        fmt::print(" {}", file);
    fmt::print("\n\nNext:\n"
               "  cd {}\n"
               "  ./build.sh\n"
               "  mqcore check-driver {folder}\n"
               "  mqcore run points.toml --profile smoke --clients {folder}\n",
               shown.string(), fmt::arg("folder", driver::driver_folder_of(wanted, *language)));
    for (const driver::ToolchainPart& part : driver::missing_toolchain(*language))
        fmt::print(stderr, "mqcore: note: building it takes {}, which is not here ({})\n",
                   part.name, part.get);
    return kDone;
}

int harness_cost(bool wants_json, unsigned rounds, const driver::EnvironmentOptions& environment) {
    const Installation installation = Installation::find();
    const campaign::HarnessCostOptions options{
        .null_clients = campaign::find_null_clients(installation.catalogue(), {}, environment),
        .worker_program = installation.worker,
        .rounds = rounds};
    for (const auto& [client, why] : options.null_clients.not_ready)
        fmt::print(stderr, "mqcore: note: '{}' is left out: {}\n", client.id, why);
    Result<campaign::HarnessCost> cost = campaign::measure_harness_cost(options);
    if (!cost)
        return report_error(cost.error());
    if (wants_json) {
        fmt::print("{}", support::print_json_pretty(campaign::to_json(*cost)));
        return kDone;
    }
    using report::Align;
    report::TextTable table({{"null client"},
                             {"shape"},
                             {"publish ns, best", Align::right},
                             {"median", Align::right},
                             {"budget", Align::right},
                             {"receive ns, best", Align::right},
                             {"median", Align::right},
                             {"budget", Align::right},
                             {"bare loop ns", Align::right},
                             {"RSS KiB", Align::right}});
    const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
    for (const campaign::HarnessCostRow& row : cost->rows)
        table.add({{row.client},
                   {std::string(driver::name_of_shape(row.shape))},
                   {whole(row.publish.best_ns)},
                   {whole(row.publish.median_ns)},
                   {whole(row.publish_budget_ns)},
                   {whole(row.receive.best_ns)},
                   {whole(row.receive.median_ns)},
                   {whole(row.receive_budget_ns)},
                   {row.bare_loop ? whole(row.bare_loop->best_ns) : ""},
                   {row.rss_peak_kib ? support::format_count(*row.rss_peak_kib) : "unknown"}});
    fmt::print(
        "One clock read: best {:.0f} ns, median {:.0f} ns. Stamping a payload: {:.0f} ns.\n"
        "Processor time. publish: next(), the drive loop and done() of a message; receive:\n"
        "received(); both with their clock reads. What a null client in Python does itself (bare\n"
        "loop: its publish() without the core) is a client's own and not in them.\n\n{}",
        cost->clock_read.best_ns, cost->clock_read.median_ns, cost->stamp.best_ns,
        table.print(report::Format::text, wants_colour(1)));
    return kDone;
}

int check(const std::string& driver_name, const driver::EnvironmentOptions& environment,
          const std::vector<std::string>& only, bool wants_json) {
    const Installation installation = Installation::find();
    const driver::Catalogue catalogue = installation.catalogue();
    const conformance::CheckOptions options{.worker_program = installation.worker,
                                            .peer_program = installation.peer,
                                            .environment = environment,
                                            .only = only};
    Result<conformance::CheckReport> report =
        conformance::check_driver(driver_name, catalogue, options);
    if (!report)
        return report_error(report.error());
    // Campaigns to come say it of this driver's cells. Some checks alone tell nothing of the others.
    if (only.empty())
        if (const Result<driver::Descriptor> client =
                driver::client_named(driver_name, catalogue)) {
            std::vector<std::string> breaches;
            for (const conformance::CheckResult& result : report->results)
                if (conformance::is_breach(result.outcome))
                    breaches.push_back(result.id);
            if (Result<void> kept = campaign::keep_check(*client, breaches); !kept)
                report_error(kept.error());
        }
    fmt::print("{}", wants_json ? support::print_json_pretty(conformance::to_json(*report))
                                : conformance::print(*report, wants_colour(1)));
    return conformance::conforms(*report) ? kDone : kSomeInvalid;
}

} // namespace

std::function<int()> declare_envs(CLI::App& app) {
    auto request = std::make_shared<EnvironmentRequest>();
    auto action = std::make_shared<std::function<int()>>();
    app.require_subcommand(1);
    const auto add = [=, &app](const char* name, const char* help,
                               int (*run)(const EnvironmentRequest&)) {
        CLI::App* command = app.add_subcommand(name, help);
        command->callback([=] { *action = [=] { return run(*request); }; });
        return command;
    };
    const auto add_wheels = [request](CLI::App* command) {
        command
            ->add_option("--wheels", request->options.wheels,
                         "Take packages from this folder, offline")
            ->type_name("DIR");
    };
    CLI::App* sync_command = add("sync", "Make what is missing or out of date", sync);
    add_clients_option(*sync_command, request->clients, "Clients; default: all");
    add_python_option(*sync_command, request->options);
    add_wheels(sync_command);
    add("list", "All environments, as JSON", list_environments);
    CLI::App* remove_command = add("remove", "Remove environments", remove);
    add_clients_option(*remove_command, request->clients,
                       "Clients, with all versions of their library; default: all");
    CLI::App* lock_command =
        add("lock", "Write a client's requirements.lock from its requirements.in", lock);
    add_clients_option(*lock_command, request->clients, "Clients");
    lock_command->get_option("--clients")->required();
    add_python_option(*lock_command, request->options);
    add_wheels(lock_command);
    return [action] { return (*action)(); };
}

std::function<int()> declare_new_driver(CLI::App& app) {
    auto wanted = std::make_shared<driver::NewProject>();
    auto language = std::make_shared<std::string>();
    app.add_option("name", wanted->id, "Its id: letters a-z, digits and '-'")
        ->required()
        ->type_name("NAME");
    app.add_option("--lang", *language, "The language to write it in")
        ->required()
        ->type_name("LANG");
    app.add_option("--shape", wanted->shape, "How its library is driven; default: the language's")
        ->type_name("SHAPE");
    app.add_option("--output", wanted->folder, "The folder to make; default: NAME")
        ->type_name("DIR");
    app.footer([] {
        const auto languages = driver::languages_in(Installation::find().templates());
        if (!languages)
            return support::one_line(languages.error());
        std::string all = "Languages:";
        for (const driver::Language& one : *languages)
            all += fmt::format("\n  {:<8}{}; shapes: {}", one.id, one.summary,
                               fmt::join(one.shapes, ", "));
        return all;
    });
    return [=] { return new_driver(*wanted, *language); };
}

std::function<int()> declare_harness_cost(CLI::App& app) {
    auto wants_json = std::make_shared<bool>(false);
    auto rounds = std::make_shared<unsigned>(7);
    auto environment = std::make_shared<driver::EnvironmentOptions>();
    add_python_option(app, *environment);
    app.add_flag("--json", *wants_json, "As JSON");
    app.add_option("--rounds", *rounds, "Interleaved rounds")
        ->check(CLI::Range(1u, 100u))
        ->capture_default_str()
        ->type_name("N");
    return [=] { return harness_cost(*wants_json, *rounds, *environment); };
}

std::function<int()> declare_check_driver(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    auto only = std::make_shared<std::vector<std::string>>();
    auto wants_json = std::make_shared<bool>(false);
    auto environment = std::make_shared<driver::EnvironmentOptions>();
    add_python_option(app, *environment);
    app.add_option("driver", *name, "A client, or a driver's library or folder")
        ->required()
        ->type_name("PATH");
    app.add_option("--only", *only, "Only these checks")->delimiter(',')->type_name("LIST");
    app.add_flag("--json", *wants_json, "As JSON");
    return [=] { return check(*name, *environment, *only, *wants_json); };
}

} // namespace mqcore::cli
