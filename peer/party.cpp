#include "peer/party.hpp"

#include "peer/direct.hpp"
#include "peer/duplex.hpp"
#include "peer/echo.hpp"
#include "peer/probe.hpp"
#include "peer/server.hpp"
#include "peer/sink.hpp"
#include "peer/source.hpp"

#include <fmt/format.h>

namespace mqcore::peer {
namespace {

using measure::PeerRole;
using measure::PeerSpec;

// What the specification of a role lacks, or nothing.
std::string missing_in(const PeerSpec& spec) {
    const bool is_both = spec.role == PeerRole::echo || spec.role == PeerRole::duplex;
    const bool sends = is_both || spec.role == PeerRole::source;
    const bool receives = is_both || spec.role == PeerRole::sink;
    if (sends && (!spec.send || spec.send->topics.empty()))
        return "send.topics";
    if (sends && spec.role != PeerRole::echo && spec.send->payload_bytes.empty())
        return "send.payload_bytes";
    if (sends && spec.send->qos > 2)
        return "send.qos of 0, 1 or 2";
    // In direct mode a peer may just hold an idle connection.
    if (receives && !spec.is_direct && (!spec.receive || spec.receive->filters.empty()))
        return "receive.filters";
    if (spec.receive && spec.receive->qos > 2)
        return "receive.qos of 0, 1 or 2";
    return {};
}

} // namespace

support::Result<std::unique_ptr<Party>> make_party(asio::io_context& io, PeerSpec spec,
                                                   EventOut out) {
    if (const std::string missing = missing_in(spec); !missing.empty())
        return support::Error{
            support::ErrorCode::wrong_input,
            fmt::format("the specification of a {} needs {}", name_of(spec.role), missing),
            {}};
    std::unique_ptr<Party> party;
    if (spec.is_direct)
        return std::unique_ptr<Party>(
            std::make_unique<Direct>(io, std::move(spec), std::move(out)));
    switch (spec.role) {
    case PeerRole::sink:
        party = std::make_unique<Sink>(io, std::move(spec), std::move(out));
        break;
    case PeerRole::source:
        party = std::make_unique<Source>(io, std::move(spec), std::move(out));
        break;
    case PeerRole::echo:
        party = std::make_unique<Echo>(io, std::move(spec), std::move(out));
        break;
    case PeerRole::duplex:
        party = std::make_unique<Duplex>(io, std::move(spec), std::move(out));
        break;
    case PeerRole::probe:
        party = std::make_unique<Probe>(io, std::move(spec), std::move(out));
        break;
    case PeerRole::server:
        party = std::make_unique<Server>(io, std::move(spec), std::move(out));
        break;
    }
    return party;
}

} // namespace mqcore::peer
