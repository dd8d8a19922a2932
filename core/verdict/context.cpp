#include "verdict/context.hpp"

#include "verdict/view.hpp"

#include <algorithm>

namespace mqcore::verdict {
namespace {

std::vector<Node> items_of(const Node& array) {
    std::vector<Node> items;
    if (array && array.json()->is_array())
        for (const support::Json& item : array.json()->get_array())
            items.emplace_back(&item);
    return items;
}

} // namespace

double floor_of_message(const Floor& floor, scenario::Kind kind) {
    const double both = (scenario::publishes(kind) ? floor.publish_ns : 0) +
                        (scenario::subscribes(kind) ? floor.receive_ns : 0);
    return kind == scenario::Kind::duplex ? both / 2 : both;
}

std::optional<double> Context::ceiling_for(std::uint32_t qos, std::string_view protocol,
                                           std::uint32_t payload_bytes) const {
    for (const Ceiling& ceiling : ceilings)
        if (ceiling.qos == qos && ceiling.protocol == protocol &&
            ceiling.payload_bytes == payload_bytes)
            return ceiling.rate;
    return std::nullopt;
}

const Floor* Context::floor_of(std::string_view client) const {
    const auto found = std::ranges::find(floors, client, &Floor::client);
    return found == floors.end() ? nullptr : &*found;
}

const Breaches* Context::breaches_of(std::string_view client) const {
    const auto found = std::ranges::find(breaches, client, &Breaches::client);
    return found == breaches.end() ? nullptr : &*found;
}

Context context_from_manifest(const support::Json& manifest) {
    const Node root(&manifest);
    Context context{
        .profile = root["profile"].text("name"), .ceilings = {}, .floors = {}, .breaches = {}};
    for (const Node& ceiling : items_of(root["ceilings"]))
        if (const Number rate = ceiling.number("rate"))
            context.ceilings.push_back(
                {.qos = static_cast<std::uint32_t>(ceiling.count("qos").value_or(0)),
                 .protocol = ceiling.text("protocol"),
                 .payload_bytes =
                     static_cast<std::uint32_t>(ceiling.count("payload_bytes").value_or(0)),
                 .rate = *rate});
    for (const Node& row : items_of(root["harness_floor"]["rows"])) {
        const Number publish = row["publish"].number("best_ns");
        const Number receive = row["receive"].number("best_ns");
        if (publish && receive)
            for (const std::string& client : row.texts("clients"))
                context.floors.push_back({client, *publish, *receive});
    }
    for (const Node& client : items_of(root["clients"]))
        if (const std::vector<std::string> checks = client["contract"].texts("breaches");
            !checks.empty())
            context.breaches.push_back({client.text("id"), checks});
    return context;
}

std::vector<Control> controls_in(const support::Json& manifest) {
    std::vector<Control> controls;
    if (const Node clients = Node(&manifest)["clients"]; clients && clients.json()->is_array())
        for (const support::Json& item : clients.json()->get_array())
            if (const std::string client = Node(&item).text("control_of"); !client.empty())
                controls.push_back({.client = client, .control = Node(&item).text("id")});
    return controls;
}

} // namespace mqcore::verdict
