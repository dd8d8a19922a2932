#pragma once
// The keys of a TOML file as a table of rows. Everything that needs to know the keys reads these
// rows: the checks and near misses of a file, the JSON Schema for editors, the reference page and
// the list on the terminal. Knows no file of mqcore in particular.

#include "support/diagnostic.hpp"
#include "support/toml.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::support {

enum class KeyType {
    text,     // any text
    texts,    // a list of texts
    word,     // one of SchemaKey::words
    words,    // a list of them
    integer,  // min to max
    integers, // a list of them
    boolean,
    bytes,   // "16KiB" or a plain number of bytes
    sizes,   // a list of them
    rate,    // "2000/s" or a plain number per second
    seconds, // "60s" or a plain number of seconds
};

enum class Presence { optional, required };

struct SchemaKey {
    std::string_view name = {};
    KeyType type = KeyType::text;
    double min = 0; // quantities and integers: smallest and largest value, both allowed
    double max = 0; // text: most characters; 0: any number
    std::string_view letters = {}; // KeyType::text: the only characters allowed, as in "a-z0-9_",
                                   // at least one of them; empty: any text
    std::vector<std::string_view> words = {}; // KeyType::word, words: what is allowed
    std::vector<std::string_view> cases = {}; // values of the table's case key with which it has a
                                              // meaning; empty: with every value
    bool can_sweep = false;                   // a list stands for one table for each of its values
    Presence presence = Presence::optional;
    std::string_view fallback = {};                  // the default as written in TOML; empty: none
    std::string_view example = {};                   // a value as written in TOML
    std::string_view help = {};                      // one line
    std::vector<std::string_view> mistaken_for = {}; // names that other tools give it
};

// single: [name]. list: [[name]]. options: [name.ID], each a table of free keys with plain values.
enum class TableForm { single, list, options };

// Two keys of one table of which at most one may stand.
struct Exclusion {
    std::string_view one = {};
    std::string_view other = {};
    std::string_view hint = {};
};

struct SchemaTable {
    std::string_view name = {};
    TableForm form = TableForm::single;
    Presence presence = Presence::optional;
    std::string_view label_key = {}; // form list: the key that names an entry in messages
    std::string_view case_key = {};  // the key on whose value SchemaKey::cases depends; empty: none
    std::string_view help = {};      // one line
    std::vector<SchemaKey> keys = {};
    std::vector<Exclusion> exclusions = {};
    std::string_view same_keys_as = {}; // the table whose rows these are too: described only there
};

struct Schema {
    std::string_view title = {};    // "mqcore scenario"
    std::string_view help = {};     // one line
    std::string_view all_keys = {}; // how to see all of them: "mqcore validate --keys"
    std::vector<SchemaTable> tables = {};

    const SchemaTable& table(std::string_view name) const; // of a name that is there
};

// One value that passed its row's check. Only the members of its type are set.
struct CheckedValue {
    std::string text;         // text, word
    double number = 0;        // rate, seconds
    std::int64_t integer = 0; // integer, bytes
    bool boolean = false;
    std::vector<std::string> words;     // words, texts
    std::vector<std::int64_t> integers; // integers, sizes
    SourceRange key_range;
    SourceRange where; // of the value
};

// What check_table() found in one table.
struct CheckedTable {
    std::map<std::string, CheckedValue, std::less<>> values; // that passed
    std::set<std::string, std::less<>> written;              // every key, also refused ones
    SourceRange where;                                       // of the table's header

    const CheckedValue* find(std::string_view key) const; // null: not there or refused
    std::string text(std::string_view key) const;         // empty then
    std::vector<std::string> words(std::string_view key) const;
};

// Findings about the top level: unknown tables, stray keys, wrong forms, missing required tables.
void check_top_level(const TomlValue& root, const Schema& schema, DiagnosticList& diagnostics);

// Findings about one table: unknown keys, wrong types, values out of range, keys without a meaning
// in its case, keys that exclude each other, missing required keys. `label` names it in messages:
// "point 'a'", "[suite]".
CheckedTable check_table(const TomlValue& table, const SchemaTable& schema, std::string_view label,
                         std::string_view all_keys, DiagnosticList& diagnostics);

// How messages name the table: "point 'pub_qos0_max'", or "point 3" where it has no name.
std::string label_of(const TomlValue& table, const SchemaTable& schema, std::size_t index);

// "0 to 2", "0B to 268435455B", "pub, sub, rtt, idle"; empty where every value is allowed.
std::string allowed_values(const SchemaKey& key);
// "[suite]", "[[point]]", "[driver.ID]"
std::string header_of(const SchemaTable& table);
// "text", "whole number", "size"
std::string_view name_of(KeyType type);

} // namespace mqcore::support
