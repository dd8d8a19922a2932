// Commands for the shell around mqcore: completions, manual.

#include "cli/command.hpp"
#include "cli/completion.hpp"
#include "cli/manual.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>
#include <iostream>
#include <memory>

namespace mqcore::cli {
namespace {

// Words come on stdin, a line each: on a command line of ours they would be options.
int offer_words(const CLI::App& program) {
    std::vector<std::string> typed;
    for (std::string word; std::getline(std::cin, word);)
        typed.push_back(std::move(word));
    fmt::print("{}", print(complete(program, typed)));
    return kDone;
}

} // namespace

std::function<int()> declare_completions(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    auto wants_words = std::make_shared<bool>(false);
    app.add_option("shell", *shell, "Which shell")->check(CLI::IsMember(shells()));
    app.add_flag("--words", *wants_words, "What can follow the words on stdin")->group("");
    app.footer("For this session alone: source <(mqcore completions bash)");
    return [=, &app] {
        if (*wants_words)
            return offer_words(*app.get_parent());
        if (shell->empty())
            return int{
                report_error({support::ErrorCode::wrong_input, "for which shell?",
                              fmt::format("mqcore completions {}", fmt::join(shells(), "|"))})};
        fmt::print("{}", completion_script(*shell));
        return int{kDone};
    };
}

std::function<int()> declare_manual(CLI::App& app) {
    app.footer("To read it: mqcore manual | man -l -");
    return [&app] {
        fmt::print("{}", manual_page(*app.get_parent()));
        return kDone;
    };
}

} // namespace mqcore::cli
