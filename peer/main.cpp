// mqpeer: answers the orchestrator's documents on descriptor 3 with one party (docs/architecture.md).

#include "measure/specification.hpp"
#include "peer/control.hpp"
#include "peer/party.hpp"
#include "support/channel.hpp"

#include <asio/io_context.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <unistd.h>

namespace {

using namespace mqcore;
using support::Json;
using support::JsonObject;

class Process {
  public:
    explicit Process(asio::io_context& io)
        : io_(io), control_(
                       io, support::UniqueFd(support::kControlDescriptor),
                       [this](support::Result<Json> document) { take(std::move(document)); },
                       [] { ::_exit(1); }) {} // the parent is gone: nobody wants the rest

    [[noreturn]] void fail(const std::string& reason) {
        control_.send(JsonObject{{"event", "failed"}, {"reason", reason}});
        ::_exit(1);
    }

  private:
    void take(support::Result<Json> document) {
        if (!document)
            fail(support::one_line(document.error()));
        const std::string verb = support::text_or(*document, "do", "");
        if (verb == "connect" || verb == "listen")
            return start(*document, verb);
        if (verb == "finish") {
            if (party_)
                party_->finish();
            control_.send(JsonObject{{"event", "finished"}});
            ::_exit(0);
        }
        if (!party_)
            fail(fmt::format("'{}' before 'connect' or 'listen'", verb));
        if (verb == "drive") {
            const Json* schedule = support::find(*document, "schedule");
            if (!schedule || !schedule->is_object())
                fail("'drive' without 'schedule'");
            return party_->drive(measure::schedule_from_json(*schedule));
        }
        if (verb == "read")
            return party_->read(support::unsigned_or(*document, "newer_than_ns", 0),
                                support::unsigned_or(*document, "timeout_ns", 0));
        if (verb == "report")
            return party_->report();
        fail(fmt::format("the control channel asks for '{}', which a peer does not know", verb));
    }

    void start(const Json& document, const std::string& verb) {
        if (party_)
            fail(fmt::format("'{}' a second time", verb));
        const Json* json = support::find(document, "spec");
        if (!json)
            fail(fmt::format("'{}' without 'spec'", verb));
        auto spec = measure::peer_spec_from_json(*json);
        if (!spec)
            fail(support::one_line(spec.error()));
        auto party = peer::make_party(io_, std::move(spec).value(),
                                      [this](JsonObject event) { say(std::move(event)); });
        if (!party)
            fail(support::one_line(party.error()));
        party_ = std::move(party).value();
        if (verb == "connect")
            party_->connect();
        else
            party_->listen();
    }

    void say(JsonObject event) {
        const bool is_end = event["event"] == "failed";
        control_.send(event);
        if (is_end)
            ::_exit(1); // as it stands: destructors have nothing left to save
    }

    asio::io_context& io_;
    std::unique_ptr<peer::Party> party_;
    peer::Control control_;
};

} // namespace

int main() {
    std::signal(SIGPIPE, SIG_IGN); // OpenSSL writes without MSG_NOSIGNAL
    if (::fcntl(support::kControlDescriptor, F_GETFD) < 0) {
        std::fputs("mqpeer is started by mqcore, with its control channel on descriptor 3\n",
                   stderr);
        return 2;
    }
    asio::io_context io(1); // one thread runs it
    Process process(io);
    try {
        io.run();
    } catch (const std::exception& error) {
        process.fail(fmt::format("internal error of the peer: {}", error.what()));
    }
    return 0;
}
