#include "cli/manual.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <sstream>

namespace mqcore::cli {
namespace {

constexpr Explained kExitCodes[] = {
    {"0", "done"},
    {"1", "done, but some runs are invalid, a driver breaks its contract, or verify found a "
          "difference"},
    {"2", "wrong scenario file or command line, or a campaign to resume is not as it was; nothing "
          "was run"},
    {"3", "this host, a driver or the broker cannot do it; what was finished before is stored"},
    {"4", "compare --fail-if-slower: something is slower than allowed"},
    {"130", "interrupted; finished runs are stored, run --resume goes on"},
};

constexpr Explained kEnvironmentVariables[] = {
    {"MQCORE_PLUGIN_PATH",
     "Folders with drivers, separated by colons, searched before mqcore's own."},
    {"MQCORE_ENVIRONMENTS", "Where the language environments of clients are kept; default "
                            "mqcore/environments in XDG_DATA_HOME, which is ~/.local/share."},
    {"MQCORE_PYTHON", "The Python to make environments with."},
    {"MQCORE_SERVER_PATH", "Folders, separated by colons, where Mosquitto is looked for when it is "
                           "not in PATH; default /usr/sbin and its like."},
    {"NO_COLOR", "No colours."},
};

// A text as roff takes it: nothing in it is a request or an escape.
std::string roff(const std::string& text) {
    std::string escaped;
    bool is_line_start = true;
    for (const char c : text) {
        if (is_line_start && (c == '.' || c == '\''))
            escaped += "\\&";
        if (c == '\\')
            escaped += "\\e";
        else if (c == '-')
            escaped += "\\-";
        else if (c == '`') // Markdown's, around words that are typed
            escaped += "'";
        else
            escaped += c;
        is_line_start = c == '\n';
        if (is_line_start)
            escaped += ".br\n";
    }
    return escaped;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

// "FILE" of a FILE:TYPE, "{a,b}" of a TEXT:{a,b}.
std::string value_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t brace = type.find('{');
    return brace != std::string::npos ? type.substr(brace) : type.substr(0, type.find(':'));
}

std::string positional_in_words(const CLI::Option& option) {
    const std::string kind = value_of(option);
    const std::string name = kind.starts_with('{') ? option.get_name() : kind;
    std::string words = italic(name);
    if (option.get_items_expected_max() > 1)
        words += "...";
    return option.get_required() ? words : "[" + words + "]";
}

std::string entry(const std::string& tag, const std::string& text) {
    return ".TP\n" + tag + "\n" + roff(text) + "\n";
}

std::string option_entry(const CLI::Option& option) {
    if (option.get_positional())
        return entry(italic(value_of(option)), option.get_description());
    std::string tag;
    for (const std::string& name : option.get_snames())
        tag += bold("-" + name) + ", ";
    for (const std::string& name : option.get_lnames())
        tag += bold("--" + name) + ", ";
    tag.resize(tag.size() - 2);
    if (takes_value(option))
        tag += " " + italic(value_of(option));
    std::string text = option.get_description();
    if (takes_value(option) && !option.get_default_str().empty())
        text += fmt::format(" (default: {})", option.get_default_str());
    return entry(tag, text);
}

void add_command(const CLI::App& command, const std::string& path, std::string& page) {
    const auto inner = command.get_subcommands(nullptr);
    for (const CLI::App* one : inner)
        add_command(*one, path + " " + one->get_name(), page);
    if (!inner.empty())
        return;
    std::string usage =
        ".SS \"" + roff(path) + "\"\n" + bold(path) + " [" + italic("OPTION") + "]...";
    std::string options;
    for (const CLI::Option* option : visible_options(command)) {
        if (option->get_positional())
            usage += " " + positional_in_words(*option);
        if (option->get_name() != "--help")
            options += option_entry(*option);
    }
    page += usage + "\n.PP\n" + roff(command.get_description()) + ".\n" + options;
}

} // namespace

std::span<const Explained> exit_codes() { return kExitCodes; }
std::span<const Explained> environment_variables() { return kEnvironmentVariables; }

std::vector<const CLI::Option*> visible_options(const CLI::App& command) {
    return command.get_options(
        [](const CLI::Option* option) { return !option->get_group().empty(); });
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t open = type.find('{'), close = type.find('}');
    std::vector<std::string> choices;
    if (open == std::string::npos || close == std::string::npos)
        return choices;
    std::istringstream list(type.substr(open + 1, close - open - 1));
    for (std::string choice; std::getline(list, choice, ',');)
        choices.push_back(choice);
    return choices;
}

std::string manual_page(const CLI::App& program) {
    std::string page = ".\\\" Made by `mqcore manual` from the commands themselves.\n"
                       ".TH MQCORE 1 \"\" \"mqcore " MQCORE_VERSION "\" \"User Commands\"\n"
                       ".SH NAME\n"
                       "mqcore, mqworker, mqpeer \\- measure MQTT client libraries\n"
                       ".SH SYNOPSIS\n"
                       ".B mqcore\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...\n"
                       ".SH DESCRIPTION\n";
    page += roff(program.get_description()) + "\n.PP\n";
    page += bold("mqworker") + " (which hosts the library under test) and " + bold("mqpeer") +
            " (the neutral party on the other side) are started by\n.B mqcore\nand by nobody "
            "else.\n";
    page += ".PP\nEvery command takes " + bold("--help") + ".\n.SH COMMANDS\n";
    add_command(program, "mqcore", page);
    page += ".SH EXIT STATUS\n";
    for (const Explained& code : exit_codes())
        page += entry(bold(code.name), code.meaning);
    page += ".SH ENVIRONMENT\n";
    for (const Explained& variable : environment_variables())
        page += entry(bold(variable.name), variable.meaning);
    page += ".SH FILES\n";
    page += entry(italic("results/"), "Where results go, in the current folder.");
    page += entry(italic("share/mqcore/scenarios/"),
                  "Scenario files, beside the folder of the program. A name that is no file here, "
                  "such as core.toml, is looked for there.");
    page += entry(italic("lib/mqcore/plugins/"), "Drivers and language hosts, beside it too.");
    page += ".SH EXAMPLES\n.EX\nmqcore doctor\nmqcore run core.toml \\-\\-profile smoke\n"
            "mqcore show results/NAME \\-\\-point pub_qos1_max\n.EE\n"
            ".SH SEE ALSO\n.BR mosquitto (8)\n.PP\n"
            "The documentation in\n.I share/doc/mqcore\\c\n: measuring, results, scenarios, and a "
            "driver of your own.\n";
    return page;
}

} // namespace mqcore::cli
