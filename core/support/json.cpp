#include "support/json.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/stream_parser.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace mqcore::support {
namespace {

bool is_scalar(const Json& value) { return !value.is_array() && !value.is_object(); }

// Histograms are arrays of pairs; a pair a line would make a file ten times as long.
bool fits_one_line(const JsonArray& array) {
    return std::ranges::all_of(array, [](const Json& item) {
        return is_scalar(item) ||
               (item.is_array() && std::ranges::all_of(item.get_array(), is_scalar));
    });
}

void print_into(std::string& out, const Json& value, std::size_t depth) {
    const auto line = [&](std::size_t level) { out.append("\n").append(2 * level, ' '); };
    if (value.is_object() && !value.get_object().empty()) {
        out += '{';
        bool first = true;
        for (const auto& member : value.get_object()) {
            if (!std::exchange(first, false))
                out += ',';
            line(depth + 1);
            out += boost::json::serialize(member.key());
            out += ": ";
            print_into(out, member.value(), depth + 1);
        }
        line(depth);
        out += '}';
    } else if (value.is_array() && !fits_one_line(value.get_array())) {
        out += '[';
        bool first = true;
        for (const Json& item : value.get_array()) {
            if (!std::exchange(first, false))
                out += ',';
            line(depth + 1);
            print_into(out, item, depth + 1);
        }
        line(depth);
        out += ']';
    } else {
        out += boost::json::serialize(value);
    }
}

} // namespace

Result<Json> parse_json(std::string_view text, std::string_view origin,
                        boost::json::storage_ptr storage) {
    boost::json::error_code error;
    unsigned char
        scratch[16384]; // enough for the parser's own stack in all but the largest documents
    boost::json::stream_parser parser({}, {}, scratch);
    parser.reset(std::move(storage));
    const std::size_t used = parser.write_some(text.data(), text.size(), error);
    if (!error)
        parser.finish(error);
    const bool only_space_left = text.find_first_not_of(" \t\r\n", used) == std::string_view::npos;
    if (!error && parser.done() && only_space_left)
        return parser.release();
    const std::string_view before = text.substr(0, used);
    const auto line = 1 + std::ranges::count(before, '\n');
    const std::size_t line_start = before.rfind('\n');
    const std::size_t column =
        1 + used - (line_start == std::string_view::npos ? 0 : line_start + 1);
    return Error{ErrorCode::wrong_input,
                 fmt::format("{}:{}:{}: not a JSON document: {}", origin, line, column,
                             error ? error.message()
                                   : std::string("it ends too early or goes on "
                                                 "after its end")),
                 {}};
}

bool cut_json(std::string_view text,
              const std::function<bool(std::string_view, std::string_view)>& visit) {
    constexpr std::size_t kNone = std::string_view::npos;
    const auto trimmed = [](std::string_view part) {
        constexpr std::string_view kSpace = " \t\r\n";
        const std::size_t first = part.find_first_not_of(kSpace);
        return first == kNone ? std::string_view()
                              : part.substr(first, part.find_last_not_of(kSpace) - first + 1);
    };
    // Most of a results file is digits and blanks.
    static constexpr auto kIsMark = [] {
        std::array<bool, 256> marks{};
        for (const char c : std::string_view("\"{}[]:,"))
            marks[static_cast<unsigned char>(c)] = true;
        return marks;
    }();
    std::string_view key;
    std::size_t depth = 0;
    std::size_t start = 0; // of the member at hand
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!kIsMark[static_cast<unsigned char>(text[at])])
            continue;
        const char c = text[at];
        if (c == '"') {
            const std::size_t first = at + 1;
            for (at = text.find('"', first); at != kNone; at = text.find('"', at + 1)) {
                const std::size_t last = text.find_last_not_of('\\', at - 1);
                if ((at - 1 - last) % 2 == 0)
                    break; // no odd number of backslashes escapes it
            }
            if (at == kNone)
                return false;
            if (depth == 1 && text[start - 1] != ':')
                key = text.substr(first, at - first);
        } else if (c == '{' || c == '[') {
            if (++depth == 1)
                start = at + 1;
        } else if (c == ':' && depth == 1) {
            start = at + 1;
        } else if ((c == ',' && depth == 1) || c == '}' || c == ']') {
            if (depth == 0)
                return false;
            if (depth == 1) {
                const std::string_view member = trimmed(text.substr(start, at - start));
                if (!member.empty() &&
                    !visit(text[start - 1] == ':' ? key : std::string_view(), member))
                    return true;
                start = at + 1;
            }
            if (c != ',' && --depth == 0)
                return trimmed(text.substr(at + 1)).empty();
        }
    }
    return false;
}

std::string print_json(const Json& value) { return boost::json::serialize(value); }

std::string print_json_pretty(const Json& value) {
    std::string out;
    print_into(out, value, 0);
    out += '\n';
    return out;
}

const Json* find(const Json& object, std::string_view key) {
    return object.is_object() ? object.get_object().if_contains(key) : nullptr;
}

std::string text_or(const Json& object, std::string_view key, std::string_view fallback) {
    const Json* value = find(object, key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string(fallback);
}

std::int64_t integer_or(const Json& object, std::string_view key, std::int64_t fallback) {
    const Json* value = find(object, key);
    if (!value || !value->is_number())
        return fallback;
    boost::json::error_code error;
    const auto number = value->to_number<std::int64_t>(error);
    return error ? fallback : number;
}

std::uint64_t unsigned_or(const Json& object, std::string_view key, std::uint64_t fallback) {
    const Json* value = find(object, key);
    if (!value || !value->is_number())
        return fallback;
    boost::json::error_code error;
    const auto number = value->to_number<std::uint64_t>(error);
    return error ? fallback : number;
}

double number_or(const Json& object, std::string_view key, double fallback) {
    const Json* value = find(object, key);
    if (!value || !value->is_number())
        return fallback;
    boost::json::error_code error;
    const auto number = value->to_number<double>(error);
    return error ? fallback : number;
}

bool boolean_or(const Json& object, std::string_view key, bool fallback) {
    const Json* value = find(object, key);
    return value && value->is_bool() ? value->get_bool() : fallback;
}

} // namespace mqcore::support
