// mqcore: measures MQTT client libraries and reports only what a party that shares no code with the
// client can confirm.

#include "cli/command.hpp"
#include "cli/manual.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdio>
#include <exception>
#include <fmt/format.h>

namespace mqcore::cli {

ExitCode exit_code_of(const support::Error& error) {
    switch (error.code) {
    case support::ErrorCode::wrong_input:
        return kWrongInput;
    case support::ErrorCode::interrupted:
        return kInterrupted;
    default:
        return kCannotHere;
    }
}

ExitCode report_error(const support::Error& error) {
    fmt::print(stderr, "mqcore: error: {}\n", error.message);
    if (!error.hint.empty())
        fmt::print(stderr, "        {}\n", error.hint);
    return exit_code_of(error);
}

constexpr std::array kCommands = {
    Command{"run", "Measure clients on the points of scenario files", declare_run},
    Command{"list", "Points, clients, refused pairs and the time a run would take", declare_list},
    Command{"profile", "One run of a client with a profiler attached: where its time goes",
            declare_profile},
    Command{"clients", "Clients that can be measured, with shape, capabilities and version",
            declare_clients},
    Command{"show", "The result tables of a campaign, and its exports for other programs",
            declare_show},
    Command{"report", "A site of static pages about campaigns", declare_report},
    Command{"compare", "Two campaigns, or clients of one: ratios with intervals and verdicts",
            declare_compare},
    Command{"verify", "Compute a results folder again from its raw counts and name what differs",
            declare_verify},
    Command{"validate", "Check scenario files and run nothing", declare_validate},
    Command{"explain", "A check, flag, metric, status or point in plain words", declare_explain},
    Command{"doctor", "What this machine lacks for a run, and how to mend it", declare_doctor},
    Command{"envs", "Language environments of clients: sync, list, remove, lock", declare_envs},
    Command{"new-driver", "Make the project of a driver of your own, a working skeleton",
            declare_new_driver},
    Command{"check-driver", "Does a driver keep its contract?", declare_check_driver},
    Command{"harness-cost", "What mqcore itself costs a client, measured with null clients",
            declare_harness_cost},
    Command{"completions", "The script that makes a shell complete mqcore's commands and clients",
            declare_completions},
    Command{"manual", "The manual page mqcore(1), in roff", declare_manual},
};

int main(int argc, char** argv) {
    CLI::App app(
        "mqcore measures MQTT client libraries against a local broker and reports only what a "
        "party that shares no code with the client can confirm.",
        "mqcore");
    app.require_subcommand(1);
    app.set_version_flag("--version", "mqcore " MQCORE_VERSION);
    std::function<int()> chosen;
    for (const Command& command : kCommands) {
        CLI::App* sub = app.add_subcommand(command.name, command.help);
        sub->callback([&chosen, action = command.declare(*sub)] { chosen = action; });
    }
    // Set last: a subcommand takes the footer that is there when it is made.
    std::string footer = "Exit codes:\n";
    for (const Explained& code : exit_codes())
        footer += fmt::format("  {:3}  {}\n", code.name, code.meaning);
    app.footer(footer + "A first run: mqcore run scenarios/core.toml --profile smoke\n");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& wrong) {
        return app.exit(wrong) == 0 ? kDone : kWrongInput;
    }
    try {
        return chosen();
    } catch (const std::exception& fault) { // out of memory and the like: still one line
        fmt::print(stderr, "mqcore: error: {}\n", fault.what());
        return kCannotHere;
    }
}

} // namespace mqcore::cli

int main(int argc, char** argv) { return mqcore::cli::main(argc, argv); }
