#pragma once
// What a judgement needs besides the run: facts of the campaign that its manifest holds.

#include "measure/specification.hpp"
#include "support/json.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mqcore::verdict {

// What the broker carries from the peer's source to the peer's sink, measured before the first run.
struct Ceiling {
    std::uint32_t qos = 0;
    std::string protocol; // "3.1.1", "5"
    std::uint32_t payload_bytes = 0;
    double rate = 0; // messages per second
};

struct Context {
    std::string profile;
    std::vector<Ceiling> ceilings; // empty: not measured

    std::optional<double> ceiling_for(std::uint32_t qos, std::string_view protocol,
                                      std::uint32_t payload_bytes) const;
};

// Reads {"profile": {"name"}, "ceilings": [{"qos", "protocol", "payload_bytes", "rate"}]}.
Context context_from_manifest(const support::Json& manifest);

// An A/A pair of a campaign: one client under two names.
struct Control {
    std::string client, control;
};
// Reads {"clients": [{"id", "control_of"}]}.
std::vector<Control> controls_in(const support::Json& manifest);

} // namespace mqcore::verdict
