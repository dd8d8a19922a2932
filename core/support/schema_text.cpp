#include "support/schema_text.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace mqcore::support {
namespace {

JsonObject schema_of_table(const SchemaTable& table);
JsonObject schema_of_key(const SchemaKey& key);
std::string value_cell(const SchemaKey& key);
std::string wrapped(std::string_view text, std::size_t indent);
std::string cell(std::string_view text);
std::string names_of_keys(const SchemaTable& table, const Schema& schema, std::string_view quote);

} // namespace

JsonObject json_schema_of(const Schema& schema) {
    JsonObject tables;
    JsonArray required;
    for (const SchemaTable& table : schema.tables) {
        tables[table.name] = schema_of_table(table);
        if (table.presence == Presence::required)
            required.emplace_back(table.name);
    }
    return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
            {"title", schema.title},
            {"description", schema.help},
            {"type", "object"},
            {"additionalProperties", false},
            {"required", required},
            {"properties", tables}};
}

std::string markdown_of(const Schema& schema) {
    std::string out;
    for (const SchemaTable& table : schema.tables) {
        out += fmt::format("## `{}`\n\n{}{}\n\n", header_of(table), table.help,
                           table.presence == Presence::required ? " Required." : "");
        if (!table.same_keys_as.empty())
            out += names_of_keys(table, schema, "`") + "\n\n";
        if (table.keys.empty() || !table.same_keys_as.empty())
            continue;
        const bool has_cases = !table.case_key.empty();
        out += fmt::format("| key | value | default |{} meaning |\n|---|---|---|{}---|\n",
                           has_cases ? " kinds |" : "", has_cases ? "---|" : "");
        for (const SchemaKey& key : table.keys) {
            const std::string fallback = key.presence == Presence::required ? "required"
                                         : key.fallback.empty()             ? ""
                                                                : fmt::format("`{}`", key.fallback);
            const std::string cases =
                !has_cases
                    ? ""
                    : fmt::format(" {} |", key.cases.empty()
                                               ? "all"
                                               : fmt::format("{}", fmt::join(key.cases, ", ")));
            out += fmt::format("| `{}` | {} | {} |{} {} |\n", key.name, cell(value_cell(key)),
                               fallback, cases, cell(key.help));
        }
        out += '\n';
    }
    return out;
}

std::string terminal_text_of(const Schema& schema) {
    constexpr std::size_t kIndent = 16;
    std::string out = fmt::format("{}\n", schema.help);
    for (const SchemaTable& table : schema.tables) {
        out += fmt::format("\n{}  {}\n", header_of(table),
                           table.presence == Presence::required ? "required" : "optional");
        out += wrapped(table.help, 2);
        if (!table.same_keys_as.empty()) {
            out += wrapped(names_of_keys(table, schema, ""), 2);
            continue;
        }
        for (const SchemaKey& key : table.keys) {
            std::string facts = value_cell(key);
            if (key.presence == Presence::required)
                facts += "; required";
            if (!key.fallback.empty())
                facts += fmt::format("; default {}", key.fallback);
            if (!table.case_key.empty() && !key.cases.empty())
                facts += fmt::format("; for {}", fmt::join(key.cases, ", "));
            const std::string meaning = wrapped(key.help, kIndent);
            out += fmt::format("  {:{}}{}", key.name, kIndent - 2, meaning.substr(kIndent));
            out += wrapped(facts, kIndent);
        }
    }
    return out;
}

namespace {

// A value as written in TOML, as JSON.
Json json_of(std::string_view toml) {
    const SourceFile source{"", fmt::format("x = {}", toml)};
    DiagnosticList ignored(source);
    const auto root = parse_toml(source, ignored);
    const auto convert = [](const TomlValue& value, const auto& self) -> Json {
        switch (value.type) {
        case TomlValue::Type::text:
            return Json(value.text);
        case TomlValue::Type::integer:
            return Json(value.integer);
        case TomlValue::Type::number:
            return Json(value.number);
        case TomlValue::Type::boolean:
            return Json(value.boolean);
        case TomlValue::Type::array: {
            JsonArray items;
            for (const TomlValue& item : value.items)
                items.push_back(self(item, self));
            return items;
        }
        default:
            return {};
        }
    };
    return root ? convert(root->members.front().value, convert) : Json(nullptr);
}

// Whole numbers stay whole: 65535, not 6.5535E4.
Json number_of(double value) {
    const auto whole = static_cast<std::int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

JsonObject in_range(std::string_view type, const SchemaKey& key) {
    return {{"type", type}, {"minimum", number_of(key.min)}, {"maximum", number_of(key.max)}};
}

// Text with a unit, or a plain number of the base unit.
JsonObject quantity(std::string_view number_type, std::string_view units, const SchemaKey& key) {
    const std::string pattern = fmt::format("^[0-9]+(\\.[0-9]+)? ?({})$", units);
    return {{"anyOf", JsonArray{in_range(number_type, key),
                                JsonObject{{"type", "string"}, {"pattern", pattern}}}}};
}

JsonObject word_of(const SchemaKey& key) {
    return {{"enum", JsonArray(key.words.begin(), key.words.end())}};
}

JsonObject text_of(const SchemaKey& key) {
    JsonObject text{{"type", "string"}};
    if (!key.letters.empty())
        text["pattern"] = fmt::format("^[{}]+$", key.letters);
    if (key.max > 0)
        text["maxLength"] = number_of(key.max);
    return text;
}

JsonObject list_of(JsonObject item) { return {{"type", "array"}, {"items", std::move(item)}}; }

JsonObject size_of(const SchemaKey& key) {
    return quantity("integer", "B|kB|KiB|MB|MiB|GB|GiB", key);
}

JsonObject type_of(const SchemaKey& key) {
    switch (key.type) {
    case KeyType::text:
        return text_of(key);
    case KeyType::texts:
        return list_of(text_of(key));
    case KeyType::word:
        return word_of(key);
    case KeyType::words:
        return list_of(word_of(key));
    case KeyType::integer:
        return in_range("integer", key);
    case KeyType::integers:
        return list_of(in_range("integer", key));
    case KeyType::boolean:
        return {{"type", "boolean"}};
    case KeyType::bytes:
        return size_of(key);
    case KeyType::sizes:
        return list_of(size_of(key));
    case KeyType::rate:
        return quantity("number", "/s|/min", key);
    case KeyType::seconds:
        return quantity("number", "s|ms|us|\xC2\xB5s|ns|min|h", key);
    }
    return {};
}

JsonObject schema_of_key(const SchemaKey& key) {
    JsonObject schema = type_of(key);
    if (key.can_sweep) {
        JsonObject several = list_of(schema);
        several["minItems"] = 1;
        schema = {{"anyOf", JsonArray{std::move(schema), std::move(several)}}};
    }
    schema["description"] = key.help;
    if (!key.fallback.empty())
        schema["default"] = json_of(key.fallback);
    if (!key.example.empty())
        schema["examples"] = JsonArray{json_of(key.example)};
    return schema;
}

// For each value of the case key: the keys without a meaning are refused.
void add_case_rules(const SchemaTable& table, JsonArray& rules) {
    const auto case_key = std::ranges::find(table.keys, table.case_key, &SchemaKey::name);
    if (case_key == table.keys.end())
        return;
    for (const std::string_view value : case_key->words) {
        JsonObject refused;
        for (const SchemaKey& key : table.keys)
            if (!key.cases.empty() && std::ranges::find(key.cases, value) == key.cases.end())
                refused[key.name] = false;
        if (refused.empty())
            continue;
        const JsonObject is_case{
            {"properties", JsonObject{{table.case_key, JsonObject{{"const", value}}}}},
            {"required", JsonArray{table.case_key}}};
        rules.push_back(JsonObject{{"if", is_case}, {"then", JsonObject{{"properties", refused}}}});
    }
}

JsonArray rules_of(const SchemaTable& table) {
    JsonArray rules;
    add_case_rules(table, rules);
    for (const Exclusion& exclusion : table.exclusions)
        rules.push_back(JsonObject{
            {"not", JsonObject{{"required", JsonArray{exclusion.one, exclusion.other}}}}});
    return rules;
}

JsonObject schema_of_table(const SchemaTable& table) {
    if (table.form == TableForm::options)
        return {{"description", table.help},
                {"type", "object"},
                {"additionalProperties",
                 JsonObject{{"type", "object"},
                            {"additionalProperties",
                             JsonObject{{"type", JsonArray{"string", "number", "boolean"}}}}}}};
    JsonObject properties;
    JsonArray required;
    for (const SchemaKey& key : table.keys) {
        properties[key.name] = schema_of_key(key);
        if (key.presence == Presence::required)
            required.emplace_back(key.name);
    }
    JsonObject schema{{"type", "object"},
                      {"additionalProperties", false},
                      {"required", required},
                      {"properties", properties}};
    if (JsonArray rules = rules_of(table); !rules.empty())
        schema["allOf"] = std::move(rules);
    if (table.form == TableForm::list)
        return {{"description", table.help}, {"type", "array"}, {"minItems", 1}, {"items", schema}};
    schema["description"] = table.help;
    return schema;
}

// --- words --------------------------------------------------------------------------------------

// "size, 0B to 268435455B", "one of: pub, sub", "text of a-z, 0-9 and _".
std::string value_cell(const SchemaKey& key) {
    const std::string allowed = allowed_values(key);
    if (key.can_sweep) {
        SchemaKey one = key;
        one.can_sweep = false;
        return fmt::format("{}, or a list of them: a point for each", value_cell(one));
    }
    switch (key.type) {
    case KeyType::word:
        return fmt::format("one of: {}", allowed);
    case KeyType::words:
        return fmt::format("list of: {}", allowed);
    case KeyType::text:
    case KeyType::texts:
        return allowed.empty() ? std::string(name_of(key.type))
                               : fmt::format("{} of {}", name_of(key.type), allowed);
    case KeyType::boolean:
        return std::string(name_of(key.type));
    default:
        return fmt::format("{}, {}", name_of(key.type), allowed);
    }
}

// "Keys, as in [[point]]: qos, payload."
std::string names_of_keys(const SchemaTable& table, const Schema& schema, std::string_view quote) {
    std::vector<std::string> names;
    for (const SchemaKey& key : table.keys)
        names.push_back(fmt::format("{}{}{}", quote, key.name, quote));
    const std::string other = header_of(schema.table(table.same_keys_as));
    return fmt::format("Keys, as in {}{}{}: {}.", quote, other, quote, fmt::join(names, ", "));
}

std::string wrapped(std::string_view text, std::size_t indent) {
    constexpr std::size_t kWidth = 100;
    std::string out;
    std::string line(indent, ' ');
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, space);
        text.remove_prefix(std::min(space + 1, text.size()));
        if (line.size() > indent && line.size() + 1 + word.size() > kWidth) {
            out += line + '\n';
            line.assign(indent, ' ');
        }
        if (line.size() > indent)
            line += ' ';
        line += word;
    }
    return out + line + '\n';
}

// Markdown reads a bar as the end of a cell.
std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text)
        out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

} // namespace
} // namespace mqcore::support
