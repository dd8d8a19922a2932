#include "campaign/resume.hpp"

#include "verdict/table.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace mqcore::campaign {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;

struct Part {
    const char* name; // of the manifest
    const char* key;  // an array's items go by this member; empty: no array
    std::vector<const char*> members;
};

const Part kParts[] = {
    {"mqcore", "", {"programs"}},
    {"scenarios", "file", {"sha256"}},
    {"profile", "", {"name", "warmup_ns", "window_ns", "drain_ns", "runs"}},
    {"clients", "id", {"files", "linked", "environment", "options"}},
    {"broker", "", {"managed", "version", "config_sha256", "binary_sha256", "url"}},
    {"machine", "", {"cpu_model", "architecture", "cores", "cpus", "kernel", "hypervisor"}},
    {"cores", "", {"cpus"}},
};

Json taken(const Json& from, const std::vector<const char*>& members) {
    JsonObject object;
    for (const char* member : members)
        if (const Json* value = support::find(from, member))
            object[member] = *value;
    return object;
}

// A hash is recognised by its beginning.
std::string in_words(const Json* value) {
    if (!value || value->is_null())
        return "nothing";
    if (!value->is_string())
        return support::print_json(*value);
    std::string text(value->get_string());
    constexpr std::size_t kHashDigits = 64, kShown = 12;
    if (text.size() == kHashDigits &&
        text.find_first_not_of("0123456789abcdef") == std::string::npos)
        return text.substr(0, kShown) + "…";
    return fmt::format("'{}'", text);
}

void compare(const std::string& path, const Json* was, const Json* is,
             std::vector<std::string>& changes) {
    const bool has_members = (was && was->is_object()) || (is && is->is_object());
    if (!has_members) {
        if (in_words(was) != in_words(is) || (was && is && *was != *is))
            changes.push_back(fmt::format("{}: {} → {}", path, in_words(was), in_words(is)));
        return;
    }
    std::set<std::string> names;
    for (const Json* side : {was, is})
        if (side && side->is_object())
            for (const auto& member : side->get_object())
                names.emplace(member.key());
    for (const std::string& name : names)
        compare(path.empty() ? name : path + "." + name, was ? support::find(*was, name) : nullptr,
                is ? support::find(*is, name) : nullptr, changes);
}

} // namespace

JsonObject frozen_identity(const Json& manifest) {
    JsonObject identity;
    for (const Part& part : kParts) {
        const Json* found = support::find(manifest, part.name);
        if (!found)
            continue;
        if (!found->is_array()) {
            identity[part.name] = taken(*found, part.members);
            continue;
        }
        JsonObject items;
        for (const Json& item : found->get_array())
            items[support::text_or(item, part.key, "")] = taken(item, part.members);
        identity[part.name] = std::move(items);
    }
    return identity;
}

std::vector<std::string> changes_between(const Json& was, const Json& is) {
    std::vector<std::string> changes;
    compare("", &was, &is, changes);
    return changes;
}

std::map<RunKey, Attempted> attempted(const std::vector<Json>& runs) {
    std::map<RunKey, Attempted> done;
    for (const Json& run : runs) {
        Attempted& one =
            done[{support::text_or(run, "point", ""), support::text_or(run, "client_name", ""),
                  support::unsigned_or(run, "run", 0)}];
        const auto attempt = static_cast<std::uint32_t>(support::unsigned_or(run, "attempt", 1));
        if (attempt < one.attempts)
            continue;
        one = {.attempts = attempt,
               .is_settled = support::text_or(run, "status", "") !=
                             verdict::name_of(verdict::Status::invalid)};
    }
    return done;
}

} // namespace mqcore::campaign
