#include "scenario/sweep.hpp"

#include "support/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace mqcore::scenario {
namespace {

using support::KeyType;
using support::SchemaKey;
using support::TomlMember;
using support::TomlValue;

// More points than any campaign could run: a slip, and a danger for memory.
constexpr std::size_t kMostPoints = 1000;

std::optional<double> number_of(const SchemaKey& key, const TomlValue& value) {
    if (value.type == TomlValue::Type::integer)
        return static_cast<double>(value.integer);
    if (value.type == TomlValue::Type::number)
        return value.number;
    if (value.type != TomlValue::Type::text)
        return std::nullopt;
    if (key.type == KeyType::bytes) {
        const auto bytes = support::parse_bytes(value.text);
        return bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
    }
    const auto rate = support::parse_rate(value.text);
    return key.type == KeyType::rate && rate ? std::optional(*rate) : std::nullopt;
}

// "500", "5k", "16k", "0_5"; the check of the point itself finds what is no value of the key.
std::string end_of_id(const SchemaKey& key, const TomlValue& value) {
    const std::optional<double> number = number_of(key, value);
    if (!number)
        return "?";
    const double thousand = key.type == KeyType::bytes ? 1024 : 1000;
    for (const auto& [unit, letter] :
         {std::pair{thousand * thousand, "m"}, std::pair{thousand, "k"}})
        if (*number >= unit && std::fmod(*number, unit) == 0)
            return fmt::format("{:.0f}{}", *number / unit, letter);
    std::string text = fmt::format("{}", *number);
    std::ranges::replace(text, '.', '_');
    return text;
}

TomlMember* member_named(TomlValue& table, std::string_view key) {
    const auto found = std::ranges::find(table.members, key, &TomlMember::key);
    return found == table.members.end() ? nullptr : &*found;
}

} // namespace

std::vector<TomlValue> expand_sweeps(const TomlValue& table, const support::SchemaTable& schema,
                                     std::string_view label, support::DiagnosticList& diagnostics) {
    std::vector<TomlValue> points{table};
    for (const SchemaKey& key : schema.keys) {
        const TomlMember* swept = table.find(key.name);
        if (!key.can_sweep || !swept || swept->value.type != TomlValue::Type::array)
            continue;
        const std::vector<TomlValue>& values = swept->value.items;
        const char* fault = values.empty() ? "is an empty list"
                            : points.size() * values.size() > kMostPoints
                                ? "makes more than 1,000 points"
                                : nullptr;
        if (fault) {
            diagnostics.error(swept->value.where,
                              fmt::format("'{}' {} in {}", key.name, fault, label),
                              "a list stands for one point for each of its values");
            return {};
        }
        std::vector<TomlValue> more;
        for (const TomlValue& point : points)
            for (const TomlValue& value : values) {
                TomlValue& copy = more.emplace_back(point);
                member_named(copy, key.name)->value = value;
                if (TomlMember* id = member_named(copy, "id");
                    id && id->value.type == TomlValue::Type::text)
                    id->value.text += "_" + end_of_id(key, value);
            }
        points = std::move(more);
    }
    return points;
}

} // namespace mqcore::scenario
