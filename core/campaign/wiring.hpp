#pragma once
// How a point becomes a task for the client's worker and one for the peer on the other side of the
// broker: who publishes where, who subscribes to what. The only place that knows what a kind means.

#include "measure/specification.hpp"
#include "scenario/point.hpp"
#include "support/json.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mqcore::campaign {

// What is special to one run of a client.
struct RunIdentity {
    std::uint32_t tag = 0; // unique to the run: in its topics, its client ids and each payload
    std::string driver_file, driver_folder, environment;
    std::vector<std::pair<std::string, std::string>> options;
    std::optional<double> receive_offer; // messages per second, for points that receive at capacity
};

struct Wiring {
    measure::WorkerSpec worker; // host, port and certificate are filled in by the session
    std::optional<measure::PeerSpec> peer;
};

Wiring wire(const scenario::Point& point, const RunIdentity& identity);

// The point as a run document holds it.
support::JsonObject to_json(const scenario::Point& point);

} // namespace mqcore::campaign
