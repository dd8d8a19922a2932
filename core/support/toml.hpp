#pragma once
// TOML as a plain tree that remembers where every key and every value stands, in the order of the
// file, so that a finding about the meaning of a file can point at its place. The library that
// parses stays inside toml.cpp.

#include "support/diagnostic.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::support {

struct TomlMember;

struct TomlValue {
    enum class Type { text, integer, number, boolean, date, array, table };

    Type type = Type::table;
    SourceRange where;               // a table's header, an inline value itself
    std::string text;                // Type::text
    std::int64_t integer = 0;        // Type::integer
    double number = 0;               // Type::number
    bool boolean = false;            // Type::boolean
    std::vector<TomlValue> items;    // Type::array
    std::vector<TomlMember> members; // Type::table, in file order

    const TomlMember* find(std::string_view key) const; // null: no such key
};

struct TomlMember {
    std::string key;
    SourceRange key_range;
    TomlValue value;
};

// "text", "a whole number", "a table": for messages.
std::string_view name_of(TomlValue::Type type);

// A plain value (text, a number, true or false) as the text that a driver gets for an option, without
// U+0000; nothing for any other value.
std::optional<std::string> option_text(const TomlValue& value);

// The whole file as a table, or nothing and one finding. Bytes that are not UTF-8 are found before
// the grammar is, and frequent slips (a quantity or a word without quotes) get a hint.
std::optional<TomlValue> parse_toml(const SourceFile& source, DiagnosticList& diagnostics);

} // namespace mqcore::support
