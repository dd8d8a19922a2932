#include "report/selection.hpp"

#include "support/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::report {
namespace {

using support::Json;

support::JsonArray* list_of(Json& manifest, std::string_view key) {
    Json* list = manifest.is_object() ? manifest.get_object().if_contains(key) : nullptr;
    return list && list->is_array() ? &list->get_array() : nullptr;
}

// Keeps the items whose `id_key` is wanted.
void keep(support::JsonArray* items, const char* id_key, const std::vector<std::string>& wanted) {
    if (!items || wanted.empty())
        return;
    support::JsonArray kept;
    for (Json& item : *items)
        if (std::ranges::count(wanted, support::text_or(item, id_key, "")) > 0)
            kept.push_back(std::move(item));
    *items = std::move(kept);
}

support::Result<void> check_known(support::JsonArray* items, const char* what,
                                  const std::vector<std::string>& wanted) {
    std::vector<std::string> known;
    if (items)
        for (const Json& item : *items)
            known.push_back(support::text_or(item, "id", ""));
    for (const std::string& id : wanted)
        if (std::ranges::count(known, id) == 0) {
            const auto near = support::nearest(id, known);
            return support::Error{
                support::ErrorCode::wrong_input,
                fmt::format("the campaign has no {} '{}'", what, support::brief(id)),
                near ? fmt::format("did you mean '{}'?", *near)
                     : fmt::format("it has {}", fmt::join(known, ", "))};
        }
    return {};
}

} // namespace

support::Result<void> select(Json& manifest, const Selection& selection) {
    support::JsonArray* points = list_of(manifest, "points");
    support::JsonArray* clients = list_of(manifest, "clients");
    if (const auto known = check_known(points, "point", selection.points); !known)
        return known;
    if (const auto known = check_known(clients, "client", selection.clients); !known)
        return known;
    keep(points, "id", selection.points);
    keep(clients, "id", selection.clients);
    keep(list_of(manifest, "refused"), "point", selection.points);
    keep(list_of(manifest, "refused"), "client", selection.clients);
    return {};
}

bool has_pair(const Json& manifest, std::string_view client, std::string_view point) {
    const auto has = [&](std::string_view key, std::string_view id) {
        const Json* list = support::find(manifest, key);
        return list && list->is_array() &&
               std::ranges::any_of(list->get_array(), [&](const Json& item) {
                   return support::text_or(item, "id", "") == id;
               });
    };
    return has("clients", client) && has("points", point);
}

} // namespace mqcore::report
