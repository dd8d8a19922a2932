// Commands about drivers: envs, check-driver, harness-cost.

#include "campaign/harness_cost.hpp"
#include "cli/command.hpp"
#include "cli/installation.hpp"
#include "cli/terminal.hpp"
#include "conformance/check_driver.hpp"
#include "report/text_table.hpp"
#include "support/text.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace mqcore::cli {
namespace {

using support::Json;
using support::Result;

struct EnvironmentRequest {
    std::vector<std::string> clients;
    driver::EnvironmentOptions options;
    std::string wheels;
};

// The hosted drivers among the named ones; all of them when none is named.
Result<std::vector<driver::Descriptor>> hosted(const driver::Catalogue& catalogue,
                                               const std::vector<std::string>& names) {
    std::vector<driver::Descriptor> drivers;
    if (names.empty() || std::ranges::count(names, "all"))
        drivers = catalogue.drivers;
    for (const std::string& name : names)
        if (name != "all") {
            Result<driver::Descriptor> driver = driver::driver_named(name, catalogue);
            if (!driver)
                return std::move(driver).error();
            drivers.push_back(std::move(*driver));
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

int list_environments() {
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
        Result<Json> removed = driver::remove_environment(driver, *catalogue.host(driver.host));
        if (!removed)
            return report_error(removed.error());
        fmt::print("{}: removed\n", driver.id);
    }
    return kDone;
}

int harness_cost(bool wants_json, unsigned rounds) {
    const Installation installation = Installation::find();
    const campaign::HarnessCostOptions options{
        .null_clients = campaign::find_null_clients(installation.catalogue(), {}),
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

int check(const std::string& driver_name, const std::vector<std::string>& only, bool wants_json) {
    const Installation installation = Installation::find();
    const driver::Catalogue catalogue = installation.catalogue();
    const conformance::CheckOptions options{
        .worker_program = installation.worker, .peer_program = installation.peer, .only = only};
    Result<conformance::CheckReport> report =
        conformance::check_driver(driver_name, catalogue, options);
    if (!report)
        return report_error(report.error());
    fmt::print("{}", wants_json ? support::print_json_pretty(conformance::to_json(*report))
                                : conformance::print(*report, wants_colour(1)));
    return conformance::conforms(*report) ? kDone : kSomeInvalid;
}

} // namespace

std::function<int()> declare_envs(CLI::App& app) {
    auto request = std::make_shared<EnvironmentRequest>();
    auto action = std::make_shared<std::function<int()>>();
    app.require_subcommand(1);
    const auto add_clients = [request](CLI::App* sub) {
        sub->add_option("--clients", request->clients, "Client ids; default: all")
            ->delimiter(',')
            ->type_name("LIST");
    };
    CLI::App* sync_command = app.add_subcommand("sync", "Make what is missing or out of date");
    add_clients(sync_command);
    sync_command
        ->add_option("--python", request->options.interpreter,
                     "A Python: a program, or a version such as 3.12")
        ->type_name("PROGRAM");
    sync_command
        ->add_option("--wheels", request->options.wheels, "Install from this folder, offline")
        ->type_name("DIR");
    sync_command->callback([=] { *action = [request] { return sync(*request); }; });
    app.add_subcommand("list", "All environments, as JSON")->callback([=] {
        *action = list_environments;
    });
    CLI::App* remove_command = app.add_subcommand("remove", "Remove environments");
    add_clients(remove_command);
    remove_command->callback([=] { *action = [request] { return remove(*request); }; });
    return [action] { return (*action)(); };
}

std::function<int()> declare_harness_cost(CLI::App& app) {
    auto wants_json = std::make_shared<bool>(false);
    auto rounds = std::make_shared<unsigned>(7);
    app.add_flag("--json", *wants_json, "As JSON");
    app.add_option("--rounds", *rounds, "Interleaved rounds")
        ->check(CLI::Range(1u, 100u))
        ->capture_default_str()
        ->type_name("N");
    return [=] { return harness_cost(*wants_json, *rounds); };
}

std::function<int()> declare_check_driver(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    auto only = std::make_shared<std::vector<std::string>>();
    auto wants_json = std::make_shared<bool>(false);
    app.add_option("driver", *name, "A driver's library, folder or id")
        ->required()
        ->type_name("PATH");
    app.add_option("--only", *only, "Only these checks")->delimiter(',')->type_name("LIST");
    app.add_flag("--json", *wants_json, "As JSON");
    return [=] { return check(*name, *only, *wants_json); };
}

} // namespace mqcore::cli
