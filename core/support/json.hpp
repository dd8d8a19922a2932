#pragma once
// JSON is the vocabulary of the control channel and of the result files. Boost.JSON's value is used
// as it is (one alias, no wrapper): its types are what every room would otherwise rebuild.
// Everything else about the library (parsing, printing, reading with checks) stays in this room.

#include "support/result.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mqcore::support {

using Json = boost::json::value;
using JsonObject = boost::json::object;
using JsonArray = boost::json::array;

// Parses one document; the error names line and column. `origin` is a file name or what sent it.
// `storage`: where its parts live, the heap if not given; copies of parts live there, too.
Result<Json> parse_json(std::string_view text, std::string_view origin,
                        boost::json::storage_ptr storage = {});

// Cuts an object or array into its members without parsing them: `visit` gets each one's key (as it
// stands between the quotes; empty in an array) and its text, and returns false to see no more. False:
// the brackets do not match or something follows them. For files whose parts are small and whose whole is not; whether a
// member is right JSON, parse_json says.
bool cut_json(std::string_view text,
              const std::function<bool(std::string_view key, std::string_view member)>& visit);

std::string print_json(const Json& value); // one line
std::string
print_json_pretty(const Json& value); // two spaces a level, arrays of scalars on one line

// Reading with defaults, for documents that may lack a key (an older or a newer maker).
const Json* find(const Json& object, std::string_view key); // null: no object, or no such key
// A JsonObject becomes a Json for the call alone, and the pointer would outlive it: ask the object
// itself, with if_contains().
const Json* find(const Json&& object, std::string_view key) = delete;
std::string text_or(const Json& object, std::string_view key, std::string_view fallback);
std::int64_t integer_or(const Json& object, std::string_view key, std::int64_t fallback);
std::uint64_t unsigned_or(const Json& object, std::string_view key, std::uint64_t fallback);
double number_or(const Json& object, std::string_view key, double fallback);
bool boolean_or(const Json& object, std::string_view key, bool fallback);

} // namespace mqcore::support
