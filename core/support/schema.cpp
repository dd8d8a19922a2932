#include "support/schema.hpp"

#include "support/quantity.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <variant>

namespace mqcore::support {
namespace {

using Type = TomlValue::Type;

// Why a value was refused; `hint` empty: show the row's example.
struct Refusal {
    std::string message; // without the key and the place: "takes a size, not true or false"
    std::string hint;
    SourceRange where;
};

using Accepted = std::variant<CheckedValue, Refusal>;

Accepted check_value(const TomlValue& value, const SchemaKey& key);
void report_unknown_key(const TomlMember& member, const SchemaTable& schema, std::string_view label,
                        std::string_view case_value, std::string_view all_keys,
                        DiagnosticList& diagnostics);
void report_exclusions(const TomlValue& table, const SchemaTable& schema, std::string_view label,
                       DiagnosticList& diagnostics);
std::string_view case_of(const TomlValue& table, const SchemaTable& schema);
bool has_meaning(const SchemaKey& key, std::string_view case_value);
std::string how_to_write(const SchemaKey& key);
std::string words_for_letters(std::string_view letters);

} // namespace

const SchemaTable& Schema::table(std::string_view name) const {
    return *std::ranges::find(tables, name, &SchemaTable::name);
}

const CheckedValue* CheckedTable::find(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
}

std::string CheckedTable::text(std::string_view key) const {
    const CheckedValue* value = find(key);
    return value ? value->text : std::string();
}

std::vector<std::string> CheckedTable::words(std::string_view key) const {
    const CheckedValue* value = find(key);
    return value ? value->words : std::vector<std::string>();
}

void check_top_level(const TomlValue& root, const Schema& schema, DiagnosticList& diagnostics) {
    std::vector<std::string> names;
    for (const SchemaTable& table : schema.tables)
        names.emplace_back(table.name);
    std::set<std::string> meant; // tables that stand there under a mistyped name
    for (const TomlMember& member : root.members) {
        const auto table = std::ranges::find(schema.tables, member.key, &SchemaTable::name);
        const bool is_list_of_tables =
            member.value.type == Type::array && !member.value.items.empty() &&
            std::ranges::all_of(member.value.items,
                                [](const TomlValue& item) { return item.type == Type::table; });
        const bool is_table = member.value.type == Type::table || is_list_of_tables;
        if (table != schema.tables.end()) {
            const bool fits = table->form == TableForm::list ? is_list_of_tables
                                                             : member.value.type == Type::table;
            if (!fits)
                diagnostics.error(member.key_range,
                                  fmt::format("'{}' is written {}", member.key, header_of(*table)),
                                  fmt::format("all tables and keys: {}", schema.all_keys));
            continue;
        }
        const auto near = nearest(member.key, names);
        if (is_table) {
            meant.insert(near.value_or(""));
            const std::string hint =
                near ? fmt::format("did you mean {}?  (all keys: {})",
                                   header_of(schema.table(*near)), schema.all_keys)
                     : fmt::format("all tables and keys: {}", schema.all_keys);
            diagnostics.error(member.key_range,
                              fmt::format("unknown table '{}'", brief(member.key)), hint);
            continue;
        }
        std::string homes;
        for (const SchemaTable& candidate : schema.tables)
            if (std::ranges::find(candidate.keys, member.key, &SchemaKey::name) !=
                candidate.keys.end())
                homes += fmt::format("{}{}", homes.empty() ? "" : " or ", header_of(candidate));
        diagnostics.error(member.key_range,
                          fmt::format("key '{}' stands outside of every table", brief(member.key)),
                          homes.empty() ? fmt::format("all tables and keys: {}", schema.all_keys)
                                        : fmt::format("it belongs in {}", homes));
    }
    for (const SchemaTable& table : schema.tables)
        if (table.presence == Presence::required && !root.find(table.name) &&
            !meant.contains(std::string(table.name)))
            diagnostics.error({}, fmt::format("this file has no {}", header_of(table)),
                              fmt::format("add it  (all tables and keys: {})", schema.all_keys));
}

CheckedTable check_table(const TomlValue& table, const SchemaTable& schema, std::string_view label,
                         std::string_view all_keys, DiagnosticList& diagnostics) {
    const std::string_view case_value = case_of(table, schema);
    CheckedTable checked;
    checked.where = table.where;
    for (const TomlMember& member : table.members) {
        const auto key = std::ranges::find(schema.keys, member.key, &SchemaKey::name);
        if (key == schema.keys.end()) {
            report_unknown_key(member, schema, label, case_value, all_keys, diagnostics);
            continue;
        }
        checked.written.insert(member.key);
        if (!has_meaning(*key, case_value)) {
            diagnostics.error(member.key_range,
                              fmt::format("'{}' has no meaning in {} of {} '{}'", member.key, label,
                                          schema.case_key, case_value),
                              fmt::format("remove it; it is for: {}", fmt::join(key->cases, ", ")));
            continue;
        }
        Accepted accepted = check_value(member.value, *key);
        if (auto* refusal = std::get_if<Refusal>(&accepted)) {
            diagnostics.error(refusal->where,
                              fmt::format("'{}' {} in {}", member.key, refusal->message, label),
                              refusal->hint.empty() ? how_to_write(*key) : refusal->hint);
            continue;
        }
        auto& value = std::get<CheckedValue>(accepted);
        value.key_range = member.key_range;
        checked.values.emplace(member.key, std::move(value));
    }
    report_exclusions(table, schema, label, diagnostics);
    for (const SchemaKey& key : schema.keys)
        if (key.presence == Presence::required && !checked.written.contains(key.name) &&
            has_meaning(key, case_value))
            diagnostics.error(table.where, fmt::format("{} has no '{}'", label, key.name),
                              key.type == KeyType::word
                                  ? how_to_write(key)
                                  : fmt::format("{}  ({})", how_to_write(key), key.help));
    return checked;
}

std::string label_of(const TomlValue& table, const SchemaTable& schema, std::size_t index) {
    const TomlMember* label = table.find(schema.label_key);
    if (label && label->value.type == Type::text && !label->value.text.empty())
        return fmt::format("{} '{}'", schema.name, brief(label->value.text));
    return fmt::format("{} {}", schema.name, index + 1);
}

std::string allowed_values(const SchemaKey& key) {
    switch (key.type) {
    case KeyType::word:
    case KeyType::words:
        return fmt::format("{}", fmt::join(key.words, ", "));
    case KeyType::integer:
    case KeyType::integers:
        return fmt::format("{} to {}", key.min, key.max);
    case KeyType::bytes:
    case KeyType::sizes:
        return fmt::format("{:.0f}B to {:.0f}B", key.min, key.max);
    case KeyType::rate:
        return fmt::format("{}/s to {}/s", key.min, key.max);
    case KeyType::seconds:
        return fmt::format("{}s to {}s", key.min, key.max);
    case KeyType::text:
    case KeyType::texts:
        return words_for_letters(key.letters);
    case KeyType::boolean:
        return {};
    }
    return {};
}

std::string header_of(const SchemaTable& table) {
    switch (table.form) {
    case TableForm::single:
        return fmt::format("[{}]", table.name);
    case TableForm::list:
        return fmt::format("[[{}]]", table.name);
    case TableForm::options:
        return fmt::format("[{}.ID]", table.name);
    }
    return {};
}

std::string_view name_of(KeyType type) {
    switch (type) {
    case KeyType::text:
        return "text";
    case KeyType::texts:
        return "list of texts";
    case KeyType::word:
        return "word";
    case KeyType::words:
        return "list of words";
    case KeyType::integer:
        return "whole number";
    case KeyType::integers:
        return "list of whole numbers";
    case KeyType::boolean:
        return "true or false";
    case KeyType::bytes:
        return "size";
    case KeyType::sizes:
        return "list of sizes";
    case KeyType::rate:
        return "rate";
    case KeyType::seconds:
        return "time";
    }
    return {};
}

namespace {

// --- values -------------------------------------------------------------------------------------

Refusal wrong_type(const TomlValue& value, std::string_view wanted) {
    return {.message = fmt::format("takes {}, not {},", wanted, name_of(value.type)),
            .hint = {},
            .where = value.where};
}

Accepted check_range(double number, const TomlValue& value, const SchemaKey& key,
                     CheckedValue accepted) {
    if (number >= key.min && number <= key.max) // false for NaN as well
        return accepted;
    const std::string written = value.type == Type::text ? fmt::format("\"{}\"", brief(value.text))
                                : value.type == Type::integer ? fmt::format("{}", value.integer)
                                                              : fmt::format("{}", value.number);
    return Refusal{.message =
                       fmt::format("is {}, but the range is {},", written, allowed_values(key)),
                   .hint = {},
                   .where = value.where};
}

Accepted check_integer(const TomlValue& value, const SchemaKey& key) {
    if (value.type != Type::integer)
        return wrong_type(value, "a whole number");
    CheckedValue accepted;
    accepted.integer = value.integer;
    return check_range(static_cast<double>(value.integer), value, key, accepted);
}

// "a-z0-9_" holds 'k'?
bool holds(std::string_view letters, char wanted) {
    for (std::size_t i = 0; i < letters.size(); ++i)
        if (i + 2 < letters.size() && letters[i + 1] == '-') {
            if (wanted >= letters[i] && wanted <= letters[i + 2])
                return true;
            i += 2;
        } else if (wanted == letters[i]) {
            return true;
        }
    return false;
}

Accepted check_text(const TomlValue& value, const SchemaKey& key) {
    if (value.type != Type::text)
        return wrong_type(value, "text in quotes");
    CheckedValue accepted;
    accepted.text = value.text;
    const bool is_allowed =
        key.letters.empty() || (!value.text.empty() && std::ranges::all_of(value.text, [&](char c) {
            return holds(key.letters, c);
        }));
    const bool is_short =
        key.max == 0 || brief(value.text, static_cast<std::size_t>(key.max)) == value.text;
    if (is_allowed && !is_short)
        return Refusal{.message = fmt::format("is longer than {} characters", key.max),
                       .hint = {},
                       .where = value.where};
    if (is_allowed)
        return accepted;
    return Refusal{
        .message = fmt::format("cannot be \"{}\"", brief(value.text)),
        .hint = fmt::format("write it with {} alone, at least one of them", allowed_values(key)),
        .where = value.where};
}

// The nearest word, or one that the text begins or is begun by: "publish" and "pub".
std::optional<std::string> near_word(std::string_view text,
                                     const std::vector<std::string_view>& words) {
    const std::vector<std::string> candidates(words.begin(), words.end());
    auto near = nearest(text, candidates);
    for (const std::string& word : candidates)
        if (!near && (text.starts_with(word) || (!text.empty() && word.starts_with(text))))
            near = word;
    return near;
}

Accepted check_word(const TomlValue& value, const SchemaKey& key) {
    if (value.type != Type::text)
        return wrong_type(value, "a word in quotes");
    CheckedValue accepted;
    accepted.text = value.text;
    if (std::ranges::find(key.words, value.text) != key.words.end())
        return accepted;
    const auto near = near_word(value.text, key.words);
    const std::string all = fmt::format("one of: {}", allowed_values(key));
    return Refusal{.message = fmt::format("does not know \"{}\"", brief(value.text)),
                   .hint = near ? fmt::format("did you mean \"{}\"?  ({})", *near, all) : all,
                   .where = value.where};
}

bool is_size(const SchemaKey& key) {
    return key.type == KeyType::bytes || key.type == KeyType::sizes;
}

// Quantities: text with a unit, or a plain number of the base unit.
Accepted check_quantity(const TomlValue& value, const SchemaKey& key) {
    const std::string_view name = name_of(is_size(key) ? KeyType::bytes : key.type);
    CheckedValue accepted;
    if (value.type == Type::text) {
        Result<double> parsed = 0.0;
        if (is_size(key)) {
            const Result<std::uint64_t> bytes = parse_bytes(value.text);
            parsed = bytes ? Result<double>(static_cast<double>(*bytes)) : bytes.error();
        } else {
            parsed = key.type == KeyType::rate ? parse_rate(value.text) : parse_seconds(value.text);
        }
        if (!parsed)
            return Refusal{.message =
                               fmt::format("takes a {}, not \"{}\",", name, brief(value.text)),
                           .hint = parsed.error().hint,
                           .where = value.where};
        accepted.number = *parsed;
    } else if (value.type == Type::integer) {
        accepted.number = static_cast<double>(value.integer);
    } else if (value.type == Type::number && !is_size(key)) {
        accepted.number = value.number;
    } else {
        return wrong_type(value, fmt::format("a {}", name));
    }
    Accepted checked = check_range(accepted.number, value, key, accepted);
    if (auto* good = std::get_if<CheckedValue>(&checked); good && is_size(key))
        good->integer = static_cast<std::int64_t>(good->number);
    return checked;
}

Accepted check_list(const TomlValue& value, const SchemaKey& key) {
    if (value.type != Type::array)
        return wrong_type(value, fmt::format("a {}", name_of(key.type)));
    CheckedValue accepted;
    for (const TomlValue& item : value.items) {
        Accepted checked = key.type == KeyType::words   ? check_word(item, key)
                           : key.type == KeyType::texts ? check_text(item, key)
                           : key.type == KeyType::sizes ? check_quantity(item, key)
                                                        : check_integer(item, key);
        if (std::holds_alternative<Refusal>(checked))
            return checked;
        const auto& good = std::get<CheckedValue>(checked);
        if (key.type == KeyType::integers || key.type == KeyType::sizes)
            accepted.integers.push_back(good.integer);
        else
            accepted.words.push_back(good.text);
    }
    return accepted;
}

Accepted check_value(const TomlValue& value, const SchemaKey& key) {
    CheckedValue accepted;
    Accepted checked = accepted;
    switch (key.type) {
    case KeyType::text:
        checked = check_text(value, key);
        break;
    case KeyType::boolean:
        if (value.type != Type::boolean)
            return wrong_type(value, "true or false");
        accepted.boolean = value.boolean;
        checked = accepted;
        break;
    case KeyType::word:
        checked = check_word(value, key);
        break;
    case KeyType::integer:
        checked = check_integer(value, key);
        break;
    case KeyType::words:
    case KeyType::texts:
    case KeyType::integers:
    case KeyType::sizes:
        checked = check_list(value, key);
        break;
    case KeyType::bytes:
    case KeyType::rate:
    case KeyType::seconds:
        checked = check_quantity(value, key);
        break;
    }
    if (auto* good = std::get_if<CheckedValue>(&checked))
        good->where = value.where;
    return checked;
}

// --- words for people ---------------------------------------------------------------------------

// "a-z0-9_" -> "a-z, 0-9 and _"
std::string words_for_letters(std::string_view letters) {
    std::vector<std::string_view> parts;
    while (!letters.empty()) {
        const std::size_t length = letters.size() > 2 && letters[1] == '-' ? 3 : 1;
        parts.push_back(letters.substr(0, length));
        letters.remove_prefix(length);
    }
    std::string words;
    for (std::size_t i = 0; i < parts.size(); ++i)
        words += fmt::format("{}{}",
                             i == 0                  ? ""
                             : i + 1 == parts.size() ? " and "
                                                     : ", ",
                             parts[i]);
    return words;
}

void report_unknown_key(const TomlMember& member, const SchemaTable& schema, std::string_view label,
                        std::string_view case_value, std::string_view all_keys,
                        DiagnosticList& diagnostics) {
    // A key answers to its own name and to those that other tools give it.
    std::map<std::string, std::string_view> key_of_name;
    for (const SchemaKey& key : schema.keys)
        if (has_meaning(key, case_value)) {
            key_of_name.emplace(key.name, key.name);
            for (const std::string_view name : key.mistaken_for)
                key_of_name.emplace(name, key.name);
        }
    std::vector<std::string> names;
    for (const auto& [name, key] : key_of_name)
        names.push_back(name);
    std::optional<std::string> suggestion = nearest(member.key, names);
    if (suggestion)
        suggestion = std::string(key_of_name.at(*suggestion));
    diagnostics.error(
        member.key_range, fmt::format("unknown key '{}' in {}", brief(member.key), label),
        suggestion ? fmt::format("did you mean '{}'?  (all keys: {})", *suggestion, all_keys)
                   : fmt::format("all keys: {}", all_keys));
}

// At the second of the two keys, with the line of the first.
void report_exclusions(const TomlValue& table, const SchemaTable& schema, std::string_view label,
                       DiagnosticList& diagnostics) {
    for (const Exclusion& exclusion : schema.exclusions) {
        const TomlMember* first = table.find(exclusion.one);
        const TomlMember* second = table.find(exclusion.other);
        if (!first || !second)
            continue;
        if (second < first) // members stand in file order
            std::swap(first, second);
        diagnostics.error(second->key_range,
                          fmt::format("'{}' and '{}' of line {} exclude each other in {}",
                                      second->key, first->key, first->key_range.line, label),
                          std::string(exclusion.hint));
    }
}

// The value of the table's case key when it is a good one; empty: every key may have a meaning.
std::string_view case_of(const TomlValue& table, const SchemaTable& schema) {
    const TomlMember* member = table.find(schema.case_key);
    const auto key = std::ranges::find(schema.keys, schema.case_key, &SchemaKey::name);
    if (!member || key == schema.keys.end() || member->value.type != Type::text ||
        std::ranges::find(key->words, member->value.text) == key->words.end())
        return {};
    return member->value.text;
}

bool has_meaning(const SchemaKey& key, std::string_view case_value) {
    return case_value.empty() || key.cases.empty() ||
           std::ranges::find(key.cases, case_value) != key.cases.end();
}

std::string how_to_write(const SchemaKey& key) {
    const std::string example = fmt::format("write it like: {} = {}", key.name, key.example);
    return key.type == KeyType::word ? fmt::format("{}  (one of: {})", example, allowed_values(key))
                                     : example;
}

} // namespace
} // namespace mqcore::support
