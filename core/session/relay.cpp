#include "session/relay.hpp"

namespace mqcore::session {
namespace {

using support::JsonObject;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;
using support::Result;

constexpr Nanoseconds kConnectLimit = 15 * kSecond;
constexpr Nanoseconds kDrivenGrace = 5 * kSecond;
constexpr Nanoseconds kLead = 20 * kMillisecond;

support::Error error_of(const Failure& failure) {
    return {failure.status == "interrupted" ? support::ErrorCode::interrupted
                                            : support::ErrorCode::peer,
            failure.reason,
            {}};
}

Result<std::unique_ptr<Child>> start_peer(Supervisor& supervisor, measure::PeerSpec& spec,
                                          const RelayOptions& options,
                                          const std::vector<int>& cpus) {
    spec.endpoint.host = options.listener.host;
    spec.endpoint.port = options.listener.port;
    spec.endpoint.ca_file = options.listener.ca_file;
    auto child = supervisor.start({.name = std::string(measure::name_of(spec.role)),
                                   .party = "harness",
                                   .program = options.peer_program,
                                   .arguments = {},
                                   .cpus = cpus,
                                   .log_file = options.log_file,
                                   .environment = {}});
    if (!child)
        return child;
    const Reply reply =
        supervisor.ask(**child, JsonObject{{"do", "connect"}, {"spec", measure::to_json(spec)}},
                       "connected", now_ns() + kConnectLimit);
    if (!reply)
        return error_of(*reply.failure);
    return child;
}

} // namespace

Result<double> relay_rate(Supervisor& supervisor, measure::PeerSpec source, measure::PeerSpec sink,
                          measure::Schedule lengths, const RelayOptions& options) {
    auto receiver = start_peer(supervisor, sink, options, options.sink_cpus);
    if (!receiver)
        return receiver.error();
    auto sender = start_peer(supervisor, source, options, options.source_cpus);
    if (!sender)
        return sender.error();

    lengths.start_ns = now_ns() + kLead;
    const JsonObject drive{{"do", "drive"}, {"schedule", measure::to_json(lengths)}};
    (*receiver)->tell(drive);
    (*sender)->tell(drive);
    const Nanoseconds deadline = lengths.end() + kDrivenGrace;
    if (const Reply sent = supervisor.expect(**sender, "driven", deadline); !sent)
        return error_of(*sent.failure);
    const Reply received = supervisor.expect(**receiver, "driven", deadline);
    if (!received)
        return error_of(*received.failure);
    for (Child* child : {sender->get(), receiver->get()}) {
        child->expect_end();
        child->tell(JsonObject{{"do", "finish"}});
        supervisor.wait_for_end(*child, now_ns() + kSecond);
    }
    const Json* report = support::find(received.event, "report");
    const Json* arrivals = report ? support::find(*report, "receive") : nullptr;
    if (!arrivals)
        return support::Error{support::ErrorCode::peer, "the sink reported no arrivals", {}};
    return static_cast<double>(support::unsigned_or(*arrivals, "window", 0)) *
           static_cast<double>(kSecond) / static_cast<double>(lengths.window_ns);
}

} // namespace mqcore::session
