#pragma once
// A command of mqcore: one row in the table of main.cpp. It declares its options on a CLI11 app and
// returns what to do once they are parsed.

#include "support/result.hpp"

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace mqcore::cli {

// What scripts may rely on; listed in docs/commands.md.
enum ExitCode : int {
    kDone = 0,
    kSomeInvalid =
        1, // done, but some runs are invalid, a check of a driver failed, or results differ
    kWrongInput = 2,    // scenario file or command line
    kCannotHere = 3,    // this host, a driver or the broker
    kSlower = 4,        // `compare --fail-if-slower` found something
    kInterrupted = 130, // SIGINT or SIGTERM, as a shell has it
};

ExitCode exit_code_of(const support::Error& error);
// Prints "mqcore: error: …" and gives the exit code.
ExitCode report_error(const support::Error& error);

struct Command {
    const char* name;
    const char* help;
    std::function<int()> (*declare)(CLI::App& app);
};

std::function<int()> declare_run(CLI::App& app);
std::function<int()> declare_profile(CLI::App& app);
std::function<int()> declare_list(CLI::App& app);
std::function<int()> declare_clients(CLI::App& app);
std::function<int()> declare_validate(CLI::App& app);
std::function<int()> declare_check_driver(CLI::App& app);
std::function<int()> declare_explain(CLI::App& app);
std::function<int()> declare_harness_cost(CLI::App& app);
std::function<int()> declare_doctor(CLI::App& app);
std::function<int()> declare_envs(CLI::App& app);
std::function<int()> declare_new_driver(CLI::App& app);
std::function<int()> declare_show(CLI::App& app);
std::function<int()> declare_compare(CLI::App& app);
std::function<int()> declare_verify(CLI::App& app);
std::function<int()> declare_report(CLI::App& app);
std::function<int()> declare_completions(CLI::App& app);
std::function<int()> declare_manual(CLI::App& app);

} // namespace mqcore::cli
