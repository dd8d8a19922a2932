#include "cli/completion.hpp"

#include "campaign/store.hpp"
#include "cli/installation.hpp"
#include "cli/manual.hpp"
#include "conformance/check_driver.hpp"
#include "driver/claim_names.hpp"
#include "driver/project.hpp"
#include "machine/profiler.hpp"
#include "scenario/profile.hpp"
#include "verdict/explain.hpp"

#include <CLI/App.hpp>
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace mqcore::cli {
namespace {

using Word = Offer::Word;
using Words = std::vector<Word>;

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---- words that only this place knows ----

// A word of each entry, with its explanation, by members of it.
template <class Entries, class Text, class Help>
Words words_of(const Entries& entries, Text text, Help help) {
    Words words;
    for (const auto& entry : entries)
        words.push_back(
            {std::string(std::invoke(text, entry)), std::string(std::invoke(help, entry))});
    return words;
}

Words clients(const std::vector<std::string>&) {
    Words words;
    const driver::Catalogue catalogue = Installation::find().catalogue();
    for (const driver::Descriptor& client : catalogue.drivers) {
        words.push_back({client.id, client.summary});
        for (const driver::Variant& variant : client.variants)
            words.push_back({client.id + ":" + variant.name, variant.summary});
    }
    return words;
}

Words profiles(const std::vector<std::string>&) {
    return words_of(scenario::profiles(), &scenario::Profile::name, &scenario::Profile::help);
}

std::vector<scenario::Scenario> scenarios_in(const std::vector<std::string>& files) {
    std::vector<std::filesystem::path> paths;
    for (const std::string& file : files)
        paths.push_back(Installation::find().scenario_file(file));
    return scenario::load_scenarios(paths).scenarios;
}

Words points(const std::vector<std::string>& files) {
    Words words;
    for (const scenario::Scenario& scenario : scenarios_in(files))
        for (const scenario::Point& point : scenario.points)
            words.push_back({point.id, point.question});
    return words;
}

Words scenario_files(const std::vector<std::string>&) {
    Words words;
    for (const std::string& file : Installation::find().shipped_scenarios())
        words.push_back({std::filesystem::path(file).filename(), "comes with mqcore"});
    return words;
}

Words shipped_points(const std::vector<std::string>&) {
    return points(Installation::find().shipped_scenarios());
}

Words profilers(const std::vector<std::string>&) {
    return words_of(machine::profilers(), &machine::Profiler::name, &machine::Profiler::shows);
}

Words checks(const std::vector<std::string>&) {
    return words_of(conformance::all_checks(), &conformance::CheckText::id,
                    &conformance::CheckText::says);
}

Words explainable(const std::vector<std::string>&) {
    Words words;
    for (std::string& id : verdict::explainable_ids(scenarios_in({"scenarios/core.toml"})))
        words.push_back({std::move(id), {}});
    return words;
}

Words metrics(const std::vector<std::string>&) {
    return words_of(verdict::metrics(), &verdict::MetricEntry::id, &verdict::MetricEntry::title);
}

Words languages(const std::vector<std::string>&) {
    const auto found = driver::languages_in(Installation::find().templates());
    return found ? words_of(*found, &driver::Language::id, &driver::Language::summary) : Words();
}

Words shapes(const std::vector<std::string>&) {
    Words words;
    for (const driver::ClaimName& shape : driver::kShapeNames)
        words.push_back({std::string(shape.name), {}});
    return words;
}

template <const char* kKey>
Words of_results(const std::vector<std::string>& folders) {
    Words words;
    for (const std::string& folder : folders)
        if (const auto manifest = campaign::read_manifest(folder))
            if (const support::Json* items = support::find(*manifest, kKey);
                items && items->is_array())
                for (const support::Json& item : items->get_array())
                    words.push_back({support::text_or(item, "id", ""), {}});
    return words;
}
constexpr char kClients[] = "clients";
constexpr char kPoints[] = "points";

struct Source {
    const char* command; // empty: every one that has the option
    const char* option;
    Words (*words)(const std::vector<std::string>& positionals);
};

constexpr Source kSources[] = {
    {"compare", "--clients", of_results<kClients>},
    {"show", "--client", of_results<kClients>},
    {"show", "--point", of_results<kPoints>},
    {"check-driver", "driver", clients},
    {"check-driver", "--only", checks},
    {"profile", "client", clients},
    {"profile", "point", shipped_points},
    {"profile", "--tool", profilers},
    {"explain", "id", explainable},
    {"new-driver", "--lang", languages},
    {"new-driver", "--shape", shapes},
    {"", "scenario", scenario_files},
    {"", "--scenario", scenario_files},
    {"", "--clients", clients},
    {"", "--profile", profiles},
    {"", "--points", points},
    {"", "--metrics", metrics},
    {"", "--sort", metrics},
};

// ---- what stands at the cursor ----

// How far the finished words lead.
struct Place {
    const CLI::App* command = nullptr;
    const CLI::Option* wanting = nullptr; // the option before the cursor, which wants a value
    std::vector<std::string> positionals; // values so far
    bool has_only_positionals = false;    // after "--"
};

const CLI::Option* option_named(const CLI::App& command, const std::string& word) {
    return command.get_option_no_throw(word.substr(0, word.find('=')));
}

const CLI::App* command_named(const CLI::App& command, const std::string& word) {
    const auto found =
        command.get_subcommands([&](const CLI::App* inner) { return inner->get_name() == word; });
    return found.empty() ? nullptr : found.front();
}

Place place_after(const CLI::App& program, const std::vector<std::string>& typed) {
    Place place{.command = &program, .wanting = nullptr, .positionals = {}};
    for (std::size_t i = 0; i + 1 < typed.size(); ++i) {
        const std::string& word = typed[i];
        if (place.wanting) {
            place.wanting = nullptr;
        } else if (word == "--") {
            place.has_only_positionals = true;
        } else if (word.starts_with('-') && !place.has_only_positionals) {
            const CLI::Option* option = option_named(*place.command, word);
            if (option && takes_value(*option) && word.find('=') == std::string::npos)
                place.wanting = option;
        } else if (const CLI::App* inner = command_named(*place.command, word);
                   inner && place.positionals.empty()) {
            place.command = inner;
        } else {
            place.positionals.push_back(word);
        }
    }
    return place;
}

const CLI::Option* positional_at(const CLI::App& command, std::size_t index) {
    const CLI::Option* last = nullptr;
    for (const CLI::Option* option : visible_options(command))
        if (option->get_positional()) {
            last = option;
            const auto takes = static_cast<std::size_t>(option->get_items_expected_max());
            if (index < takes)
                return option;
            index -= takes;
        }
    return last && last->get_items_expected_max() > 1 ? last : nullptr;
}

// `stem` stands before every word: "--format=", or "paho," of a list.
void offer_values(const CLI::Option& option, const Place& place, std::string stem,
                  const std::string& begun, Offer& offer) {
    Words known;
    for (const std::string& choice : choices_of(option))
        known.push_back({choice, {}});
    const std::string command = place.command->get_name();
    const auto source = std::ranges::find_if(kSources, [&](const Source& candidate) {
        return option.check_name(candidate.option) &&
               (!*candidate.command || candidate.command == command);
    });
    if (source != std::end(kSources))
        known = source->words(place.positionals);
    std::string rest = begun;
    if (option.get_delimiter() == ',') {
        const std::size_t comma = begun.rfind(',');
        const std::size_t taken = comma == std::string::npos ? 0 : comma + 1;
        stem += begun.substr(0, taken);
        rest = begun.substr(taken);
        offer.may_go_on = true;
    }
    const auto is_there = [&](const Word& word) { // in the list already
        return ("," + stem).find("," + word.text + ",") != std::string::npos;
    };
    for (const Word& word : known)
        if (word.text.starts_with(rest) && !is_there(word))
            offer.words.push_back({stem + word.text, first_line(word.help)});
    const std::string kind = option.get_type_name();
    if (kind == "DIR")
        offer.paths = Offer::Paths::folders;
    else if (kind == "FILE" || kind == "PATH" || kind == "PROGRAM")
        offer.paths = Offer::Paths::files;
}

void offer_options(const CLI::App& command, const std::string& begun, Offer& offer) {
    for (const CLI::Option* option : visible_options(command))
        if (!option->get_positional())
            for (const std::string& name : option->get_lnames())
                if (("--" + name).starts_with(begun))
                    offer.words.push_back({"--" + name, first_line(option->get_description())});
}

} // namespace

Offer complete(const CLI::App& program, const std::vector<std::string>& typed) {
    Offer offer;
    const std::string begun = typed.empty() ? "" : typed.back();
    const Place place = place_after(program, typed);
    if (place.wanting) {
        offer_values(*place.wanting, place, "", begun, offer);
        return offer;
    }
    if (begun.starts_with('-') && !place.has_only_positionals) {
        const std::size_t equals = begun.find('=');
        const CLI::Option* option = option_named(*place.command, begun);
        if (equals == std::string::npos)
            offer_options(*place.command, begun, offer);
        else if (option && takes_value(*option))
            offer_values(*option, place, begun.substr(0, equals + 1), begun.substr(equals + 1),
                         offer);
        return offer;
    }
    if (place.positionals.empty())
        for (const CLI::App* inner : place.command->get_subcommands(nullptr))
            if (inner->get_name().starts_with(begun))
                offer.words.push_back({inner->get_name(), first_line(inner->get_description())});
    if (const CLI::Option* positional = positional_at(*place.command, place.positionals.size()))
        offer_values(*positional, place, "", begun, offer);
    else if (begun.empty() && place.command->get_subcommands(nullptr).empty())
        offer_options(*place.command, begun, offer);
    return offer;
}

std::string print(const Offer& offer) {
    std::string lines;
    for (const Word& word : offer.words)
        lines += word.help.empty() ? word.text + "\n" : word.text + "\t" + word.help + "\n";
    if (offer.paths != Offer::Paths::none)
        lines += offer.paths == Offer::Paths::files ? ":files\n" : ":folders\n";
    if (offer.may_go_on)
        lines += ":list\n";
    return lines;
}

namespace {

struct Script {
    const char* shell;
    const char* text;
};

constexpr Script kScripts[] = {
    {"bash", R"(# bash completion of mqcore: the program itself says what can follow.
_mqcore() {
    local line=${COMP_LINE:0:COMP_POINT} words=() word current before=
    COMPREPLY=()
    # Bash splits words at ':' and '=' too; the program wants them as typed.
    # shellcheck disable=SC2162  # a backslash quotes the space after it
    read -a words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[${#words[@]} - 1]}
    # What bash replaces begins after the last of them.
    [[ $current == *[:=]* ]] && before=${current%"${current##*[:=]}"}
    while IFS= read -r word; do
        case $word in
        :files) compopt -o default ;;
        :folders) compopt -o dirnames ;;
        :list) compopt -o nospace ;;
        *)
            word=${word%%$'\t'*}
            COMPREPLY+=("${word#"$before"}")
            ;;
        esac
    done < <(printf '%s\n' "${words[@]:1}" | "${1/#\~/$HOME}" completions --words 2>/dev/null)
}
complete -F _mqcore mqcore
)"},
    {"zsh", R"(#compdef mqcore
# zsh completion of mqcore: the program itself says what can follow.
_mqcore() {
    local line word help paths
    local -a offered lines space
    lines=("${(@f)$(print -rl -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" |
        ${(e)words[1]} completions --words 2>/dev/null)}")
    for line in $lines; do
        case $line in
        :list) space=(-S '') ;;
        :*) paths=${line#:} ;;
        *)
            word=${line%%$'\t'*} help=
            [[ $line == *$'\t'* ]] && help=${line#*$'\t'}
            offered+=("${word//:/\\:}${help:+:$help}")
            ;;
        esac
    done
    (( $#offered )) && _describe mqcore offered "${space[@]}"
    [[ -z $paths ]] && return
    compset -P '*='
    [[ $paths == files ]] && _files || _files -/
}
if [[ $funcstack[1] == _mqcore ]]; then
    _mqcore "$@"
else
    compdef _mqcore mqcore
fi
)"},
    {"fish", R"(# fish completion of mqcore: the program itself says what can follow.
function __mqcore_offer
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l value (string replace -r '^--[^=]*=' '' -- "$current")
    for line in (printf '%s\n' $before[2..-1] "$current" | $before[1] completions --words 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $value
            case ':folders'
                __fish_complete_directories $value
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c mqcore -f -a '(__mqcore_offer)'
)"},
};

} // namespace

std::vector<std::string> shells() {
    std::vector<std::string> names;
    for (const Script& script : kScripts)
        names.emplace_back(script.shell);
    return names;
}

std::string completion_script(const std::string& shell) {
    return std::ranges::find(kScripts, shell, &Script::shell)->text;
}

} // namespace mqcore::cli
