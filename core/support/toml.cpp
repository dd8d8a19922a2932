#include "support/toml.hpp"

#include "support/text.hpp"

#include <stdexcept>

namespace mqcore::support {

// The library checks its own state with assertions, and some wrong files ("[.a]") trip one: abort
// in a debug build, an assumption in a release. Here it is an exception in every build.
struct TomlAssertion : std::runtime_error {
    using runtime_error::runtime_error;
};
[[noreturn]] static void fail_assertion(const char* expression) { throw TomlAssertion(expression); }

} // namespace mqcore::support

#pragma push_macro("NDEBUG")
#undef NDEBUG // with it the library ignores TOML_ASSERT
#define TOML_ASSERT(expression)                                                                    \
    ((expression) ? static_cast<void>(0) : mqcore::support::fail_assertion(#expression))
// No file of ours nests deeper than three; what nests deeper is refused before it costs stack.
#define TOML_MAX_NESTED_VALUES 32
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <algorithm>
#include <fmt/format.h>
#include <regex>

namespace mqcore::support {
namespace {

SourceRange range_of(const toml::source_region& region);
TomlValue convert(const toml::node& node);
bool check_encoding(const SourceFile& source, DiagnosticList& diagnostics);
bool check_outside_of_texts(const SourceFile& source, DiagnosticList& diagnostics);
void report_syntax(const toml::parse_error& error, DiagnosticList& diagnostics);
void report_unreadable_line(DiagnosticList& diagnostics);

} // namespace

const TomlMember* TomlValue::find(std::string_view key) const {
    const auto found = std::ranges::find(members, key, &TomlMember::key);
    return found == members.end() ? nullptr : &*found;
}

std::string_view name_of(TomlValue::Type type) {
    switch (type) {
    case TomlValue::Type::text:
        return "text";
    case TomlValue::Type::integer:
        return "a whole number";
    case TomlValue::Type::number:
        return "a fractional number";
    case TomlValue::Type::boolean:
        return "true or false";
    case TomlValue::Type::date:
        return "a date or time";
    case TomlValue::Type::array:
        return "a list";
    case TomlValue::Type::table:
        return "a table";
    }
    return "";
}

std::optional<std::string> option_text(const TomlValue& value) {
    switch (value.type) {
    case TomlValue::Type::text:
        return value.text.find('\0') == std::string::npos ? std::optional(value.text)
                                                          : std::nullopt;
    case TomlValue::Type::integer:
        return fmt::format("{}", value.integer);
    case TomlValue::Type::number:
        return fmt::format("{}", value.number);
    case TomlValue::Type::boolean:
        return value.boolean ? "true" : "false";
    default:
        return std::nullopt;
    }
}

std::optional<TomlValue> parse_toml(const SourceFile& source, DiagnosticList& diagnostics) {
    if (!check_encoding(source, diagnostics) || !check_outside_of_texts(source, diagnostics))
        return std::nullopt;
    try {
        const toml::parse_result parsed =
            toml::parse(std::string_view(source.content), std::string_view(source.name));
        if (parsed)
            return convert(parsed.table());
        report_syntax(parsed.error(), diagnostics);
    } catch (const TomlAssertion&) {
        report_unreadable_line(diagnostics);
    }
    return std::nullopt;
}

namespace {

SourceRange range_of(const toml::source_region& region) {
    const bool is_one_line = region.end.line == region.begin.line;
    const std::uint32_t length = is_one_line && region.end.column > region.begin.column
                                     ? region.end.column - region.begin.column
                                     : 1;
    return {.line = region.begin.line, .column = region.begin.column, .length = length};
}

TomlValue convert(const toml::node& node) {
    using Type = TomlValue::Type;
    TomlValue value;
    value.where = range_of(node.source());
    switch (node.type()) {
    case toml::node_type::string:
        value.type = Type::text;
        value.text = node.as_string()->get();
        break;
    case toml::node_type::integer:
        value.type = Type::integer;
        value.integer = node.as_integer()->get();
        break;
    case toml::node_type::floating_point:
        value.type = Type::number;
        value.number = node.as_floating_point()->get();
        break;
    case toml::node_type::boolean:
        value.type = Type::boolean;
        value.boolean = node.as_boolean()->get();
        break;
    case toml::node_type::array:
        value.type = Type::array;
        for (const toml::node& item : *node.as_array())
            value.items.push_back(convert(item));
        break;
    case toml::node_type::table:
        value.type = Type::table;
        for (const auto& [key, member] : *node.as_table())
            value.members.push_back(
                {std::string(key.str()), range_of(key.source()), convert(member)});
        // The library keeps a table sorted by key; people read a file from its top.
        std::ranges::stable_sort(value.members, [](const TomlMember& a, const TomlMember& b) {
            return std::pair(a.key_range.line, a.key_range.column) <
                   std::pair(b.key_range.line, b.key_range.column);
        });
        break;
    default:
        value.type = Type::date;
    }
    return value;
}

// Line and column of a byte, counted as diagnostics count: an ill-formed byte is one column.
SourceRange range_of_byte(std::string_view content, std::size_t at) {
    const std::string_view before = content.substr(0, at);
    const auto line = static_cast<std::uint32_t>(1 + std::ranges::count(before, '\n'));
    const std::size_t line_start = before.rfind('\n') + 1; // npos + 1 is 0
    const auto is_lead = [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; };
    const auto column =
        static_cast<std::uint32_t>(1 + std::ranges::count_if(before.substr(line_start), is_lead));
    return {.line = line, .column = column, .length = 1};
}

bool check_encoding(const SourceFile& source, DiagnosticList& diagnostics) {
    const std::string_view content = source.content;
    if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF")) {
        diagnostics.error({}, "this file is UTF-16 text, TOML is UTF-8", "save it as UTF-8");
        return false;
    }
    std::size_t bad_at = 0;
    if (const std::size_t nul = content.find('\0'); nul != std::string_view::npos) {
        diagnostics.error(range_of_byte(content, nul),
                          "a NUL byte: this is a binary file, not TOML text");
        return false;
    }
    if (!is_utf8(content, &bad_at)) {
        const auto byte = static_cast<unsigned char>(content[bad_at]);
        diagnostics.error(range_of_byte(content, bad_at),
                          fmt::format("byte 0x{:02X} is not valid UTF-8 here", byte),
                          "save the file as UTF-8; no overlong forms, no surrogates");
        return false;
    }
    return true;
}

// Behind the string whose first quote is at `at`; its end of line when it is not closed there.
std::size_t end_of_string(std::string_view content, std::size_t at) {
    const char quote = content[at];
    const bool has_lines = content.substr(at).starts_with(std::string(3, quote));
    const std::string_view closing = content.substr(at, has_lines ? 3 : 1);
    for (at += closing.size(); at < content.size(); ++at) {
        if (quote == '"' && content[at] == '\\') {
            ++at;
        } else if (content.substr(at).starts_with(closing)) {
            at += closing.size();
            // Up to two quotes before the closing ones belong to the text (TOML 1.0, String).
            for (int more = 0; has_lines && more < 2 && at < content.size(); ++more)
                at += content[at] == quote ? 1 : 0;
            return at;
        } else if (!has_lines && content[at] == '\n') {
            return at;
        }
    }
    return content.size();
}

void report_stray_character(std::string_view content, std::size_t at, DiagnosticList& diagnostics) {
    std::size_t end = at + 1;
    while (end < content.size() && (static_cast<unsigned char>(content[end]) & 0xC0u) == 0x80u)
        ++end;
    diagnostics.error(range_of_byte(content, at),
                      fmt::format("'{}' stands outside of quotes", content.substr(at, end - at)),
                      "text stands in straight quotes: \"like this\"");
}

// What the library must not meet: it recurses into every part of a dotted key, of which a file may
// have a million, and its test for white space is undefined for many characters that are no ASCII.
bool check_outside_of_texts(const SourceFile& source, DiagnosticList& diagnostics) {
    constexpr std::size_t kDotsMax = 7;
    const std::string_view content = source.content;
    std::size_t dots = 0;
    for (std::size_t at = 0; at < content.size();) {
        const char c = content[at];
        if (c == '"' || c == '\'') {
            at = end_of_string(content, at);
            continue;
        }
        if (c == '#')
            at = std::min(content.find('\n', at), content.size() - 1);
        if (static_cast<unsigned char>(c) >= 0x80) {
            report_stray_character(content, at, diagnostics);
            return false;
        }
        if (c == '.' && ++dots > kDotsMax) {
            diagnostics.error(range_of_byte(content, at),
                              fmt::format("a key with more than {} parts", kDotsMax + 1));
            return false;
        }
        if (std::string_view("=,{}[]#\n").find(c) != std::string_view::npos)
            dots = 0;
        ++at;
    }
    return true;
}

// The hint for a slip that TOML's grammar alone does not explain to a newcomer.
std::string hint_for(std::string_view line) {
    static const std::regex kQuantity(
        R"(^\s*([A-Za-z0-9_-]+)\s*=\s*([0-9][0-9.,]*\s?[A-Za-z/µ][A-Za-z/]*)\s*(#.*)?$)");
    static const std::regex kVersion(
        R"(^\s*([A-Za-z0-9_-]+)\s*=\s*([0-9]+(\.[0-9]+){2,})\s*(#.*)?$)");
    static const std::regex kWord(
        R"(^\s*([A-Za-z0-9_-]+)\s*=\s*([A-Za-z][A-Za-z0-9_.-]*)\s*(#.*)?$)");
    constexpr std::size_t kLongest = 200; // std::regex recurses with the length of the text
    if (line.size() > kLongest)
        return {};
    const std::pair<std::string_view, const std::regex&> slips[] = {
        {"value with a unit", kQuantity}, {"version", kVersion}, {"word", kWord}};
    std::match_results<std::string_view::const_iterator> match;
    for (const auto& [what, pattern] : slips)
        if (std::regex_match(line.begin(), line.end(), match, pattern))
            return fmt::format("a {} stands in quotes: {} = \"{}\"", what, match[1].str(),
                               match[2].str());
    return {};
}

// The key or the table header of a line: from its first visible character to its '=' or its end.
SourceRange range_of_start(std::string_view line, std::uint32_t number) {
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    std::string_view start = line.substr(first, line.find_first_of("=#", first) - first);
    while (start.ends_with(' ') || start.ends_with('\t'))
        start.remove_suffix(1);
    return {.line = number,
            .column = static_cast<std::uint32_t>(first + 1),
            .length = static_cast<std::uint32_t>(std::max<std::size_t>(1, start.size()))};
}

// The library points at the value of a key that stands twice; people look for the key.
bool report_redefinition(const toml::parse_error& error, DiagnosticList& diagnostics) {
    const std::string_view description = error.description();
    if (description.find("cannot redefine existing") == std::string_view::npos)
        return false;
    const std::size_t open = description.find('\'');
    const std::size_t close = description.find('\'', open + 1);
    if (close == std::string_view::npos)
        return false;
    const std::uint32_t line = error.source().begin.line;
    diagnostics.error(range_of_start(line_of(diagnostics.source().content, line), line),
                      fmt::format("{} stands twice", description.substr(open, close + 1 - open)),
                      "a key stands once in a table, and a table once in a file; only [[name]] may "
                      "repeat");
    return true;
}

void report_syntax(const toml::parse_error& error, DiagnosticList& diagnostics) {
    if (report_redefinition(error, diagnostics))
        return;
    constexpr std::string_view kPreamble = "Error while parsing ";
    std::string_view description = error.description();
    std::string message = "not valid TOML: ";
    if (description.starts_with(kPreamble)) {
        description.remove_prefix(kPreamble.size());
        message += "in ";
    }
    message += description;
    const SourceRange where = range_of(error.source());
    diagnostics.error(where, message, hint_for(line_of(diagnostics.source().content, where.line)));
}

bool trips_an_assertion(std::string_view content) {
    try {
        [[maybe_unused]] const toml::parse_result parsed = toml::parse(content);
        return false;
    } catch (const TomlAssertion&) {
        return true;
    }
}

// An assertion knows no place. The library reads a file from its start, so the shortest run of
// lines that trips the assertion ends with the line that does.
void report_unreadable_line(DiagnosticList& diagnostics) {
    const std::string_view content = diagnostics.source().content;
    std::vector<std::size_t> ends; // of each line
    for (std::size_t at = content.find('\n'); at != std::string_view::npos;
         at = content.find('\n', at + 1))
        ends.push_back(at + 1);
    if (ends.empty() || ends.back() < content.size())
        ends.push_back(content.size());
    const auto first = std::ranges::partition_point(
        ends, [&](std::size_t end) { return !trips_an_assertion(content.substr(0, end)); });
    const auto line =
        static_cast<std::uint32_t>(std::min(first, ends.end() - 1) - ends.begin() + 1);
    diagnostics.error(range_of_start(line_of(content, line), line),
                      "not valid TOML: this line cannot be read");
}

} // namespace
} // namespace mqcore::support
