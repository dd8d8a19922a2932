#pragma once
// The manual page, made from the commands as they are declared, and what it shares with the help texts.

#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mqcore::cli {

struct Explained {
    const char* name;
    const char* meaning;
};
std::span<const Explained> exit_codes();
std::span<const Explained> environment_variables();

// mqcore(1) in roff, of the program and all its commands. It says nothing of this machine.
std::string manual_page(const CLI::App& program);

// ---- reading declared options ----

// Without hidden ones.
std::vector<const CLI::Option*> visible_options(const CLI::App& command);
bool takes_value(const CLI::Option& option);
// "{text,csv}" in its type: the words that it takes. None: anything.
std::vector<std::string> choices_of(const CLI::Option& option);

} // namespace mqcore::cli
