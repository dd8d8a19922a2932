#pragma once
// What a judgement needs besides the run: facts of the campaign that its manifest holds.

#include "scenario/point.hpp"
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

// What mqcore itself costs a client, ns a message, measured before the first run with a client of its
// language and shape that does nothing.
struct Floor {
    std::string client;
    double publish_ns = 0, receive_ns = 0;
};

// What it costs the client of a message that a point of this kind counts, ns. Duplex points count those of
// both directions, and each is either sent or received.
double floor_of_message(const Floor& floor, scenario::Kind kind);

// What the last `mqcore check-driver` of this very driver found before the campaign.
struct Breaches {
    std::string client;
    std::vector<std::string> checks; // that failed, by id
};

struct Context {
    std::string profile;
    std::vector<Ceiling> ceilings;  // empty: not measured
    std::vector<Floor> floors;      // likewise
    std::vector<Breaches> breaches; // of clients whose check failed

    std::optional<double> ceiling_for(std::uint32_t qos, std::string_view protocol,
                                      std::uint32_t payload_bytes) const;
    const Floor* floor_of(std::string_view client) const; // null: not measured
    const Breaches*
    breaches_of(std::string_view client) const; // null: it passed, or was never checked
};

// Reads {"profile": {"name"}, "ceilings": [{"qos", "protocol", "payload_bytes", "rate"}],
// "harness_floor": {"rows": [{"clients": [id], "publish": {"best_ns"}, "receive": {"best_ns"}}]},
// "clients": [{"id", "contract": {"breaches": [id]}}]}.
Context context_from_manifest(const support::Json& manifest);

// An A/A pair of a campaign: one client under two names.
struct Control {
    std::string client, control;
};
// Reads {"clients": [{"id", "control_of"}]}.
std::vector<Control> controls_in(const support::Json& manifest);

} // namespace mqcore::verdict
