#include "verdict/context.hpp"

#include "verdict/view.hpp"

namespace mqcore::verdict {

std::optional<double> Context::ceiling_for(std::uint32_t qos, std::string_view protocol,
                                           std::uint32_t payload_bytes) const {
    for (const Ceiling& ceiling : ceilings)
        if (ceiling.qos == qos && ceiling.protocol == protocol &&
            ceiling.payload_bytes == payload_bytes)
            return ceiling.rate;
    return std::nullopt;
}

Context context_from_manifest(const support::Json& manifest) {
    const Node root(&manifest);
    Context context{.profile = root["profile"].text("name"), .ceilings = {}};
    if (const Node ceilings = root["ceilings"]; ceilings && ceilings.json()->is_array())
        for (const support::Json& item : ceilings.json()->get_array()) {
            const Node ceiling(&item);
            if (const Number rate = ceiling.number("rate"))
                context.ceilings.push_back(
                    {.qos = static_cast<std::uint32_t>(ceiling.count("qos").value_or(0)),
                     .protocol = ceiling.text("protocol"),
                     .payload_bytes =
                         static_cast<std::uint32_t>(ceiling.count("payload_bytes").value_or(0)),
                     .rate = *rate});
        }
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
