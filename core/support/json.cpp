#include "support/json.hpp"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <array>
#include <charconv>
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

// Builds the document as boost::json::parser does, except for doubles: the library's own may miss the
// last digit (before Boost 1.82 always), and a stored result must come back as it was written.
class Builder {
  public:
    using Part = boost::json::string_view;
    using Code = boost::json::error_code;
    static constexpr std::size_t max_object_size = boost::json::object::max_size();
    static constexpr std::size_t max_array_size = boost::json::array::max_size();
    static constexpr std::size_t max_key_size = boost::json::string::max_size();
    static constexpr std::size_t max_string_size = boost::json::string::max_size();

    explicit Builder(boost::json::storage_ptr storage) { stack_.reset(std::move(storage)); }

    Json release() { return stack_.release(); }

    bool on_document_begin(Code&) { return true; }
    bool on_document_end(Code&) { return true; }
    bool on_object_begin(Code&) { return true; }
    bool on_object_end(std::size_t size, Code&) {
        stack_.push_object(size);
        return true;
    }
    bool on_array_begin(Code&) { return true; }
    bool on_array_end(std::size_t size, Code&) {
        stack_.push_array(size);
        return true;
    }
    bool on_key_part(Part part, std::size_t, Code&) {
        stack_.push_chars(part);
        return true;
    }
    bool on_key(Part part, std::size_t, Code&) {
        stack_.push_key(part);
        return true;
    }
    bool on_string_part(Part part, std::size_t, Code&) {
        stack_.push_chars(part);
        return true;
    }
    bool on_string(Part part, std::size_t, Code&) {
        stack_.push_string(part);
        return true;
    }
    bool on_number_part(Part, Code&) { return true; } // the text is there as a whole
    bool on_int64(std::int64_t number, Part, Code&) {
        stack_.push_int64(number);
        return true;
    }
    bool on_uint64(std::uint64_t number, Part, Code&) {
        stack_.push_uint64(number);
        return true;
    }
    bool on_double(double nearly, Part text, Code&) {
        double number = nearly; // stays for what is out of a double's range
        std::from_chars(text.data(), text.data() + text.size(), number);
        stack_.push_double(number);
        return true;
    }
    bool on_bool(bool value, Code&) {
        stack_.push_bool(value);
        return true;
    }
    bool on_null(Code&) {
        stack_.push_null();
        return true;
    }
    bool on_comment_part(Part, Code&) { return true; }
    bool on_comment(Part, Code&) { return true; }

  private:
    unsigned char scratch_[16384]; // enough for all but the largest documents
    boost::json::value_stack stack_{{}, scratch_, sizeof scratch_};
};

} // namespace

Result<Json> parse_json(std::string_view text, std::string_view origin,
                        boost::json::storage_ptr storage) {
    boost::json::error_code error;
    boost::json::basic_parser<Builder> parser{boost::json::parse_options(), std::move(storage)};
    const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
    const bool only_space_left = text.find_first_not_of(" \t\r\n", used) == std::string_view::npos;
    if (!error && parser.done() && only_space_left)
        return parser.handler().release();
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
