#pragma once
// What a shell offers at TAB. The scripts ask the program itself (`mqcore completions --words`), so they
// know every command and option that there is, and the clients and points of this very place.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mqcore::cli {

struct Offer {
    struct Word {
        std::string text; // replaces the whole word that is being typed
        std::string help; // one line, may be empty
    };
    std::vector<Word> words;
    enum class Paths { none, files, folders } paths = Paths::none;
    bool may_go_on = false; // a list: no space after the word
};

// typed: the words after the program's name, the last of them (maybe empty) unfinished.
Offer complete(const CLI::App& program, const std::vector<std::string>& typed);

// For the scripts: a line a word with its help after a tab; then lines ":files", ":folders" or ":list".
std::string print(const Offer& offer);

// The script for "bash", "zsh" or "fish".
std::vector<std::string> shells();
std::string completion_script(const std::string& shell);

} // namespace mqcore::cli
