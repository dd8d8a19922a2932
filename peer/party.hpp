#pragma once
// One role of the peer. A party answers the orchestrator's documents (docs/architecture.md) and says
// what happens as events; main.cpp carries both over the control channel. What a role does not do, it
// refuses with a "failed" event. One thread.

#include "measure/schedule.hpp"
#include "measure/specification.hpp"
#include "support/json.hpp"
#include "support/result.hpp"

#include <asio/io_context.hpp>
#include <functional>
#include <memory>

namespace mqcore::peer {

using support::Json;
using support::JsonObject;
using support::Nanoseconds;

// Takes one event document for the orchestrator. After a "failed" event the process ends.
using EventOut = std::function<void(JsonObject)>;

class Party {
  public:
    explicit Party(EventOut out) : out_(std::move(out)) {}
    virtual ~Party() = default;
    Party(const Party&) = delete;
    Party& operator=(const Party&) = delete;

    virtual void connect() { refuse("connect"); }
    virtual void drive(const measure::Schedule&) { refuse("drive"); }
    virtual void read(Nanoseconds /*newer_than*/, Nanoseconds /*timeout*/) { refuse("read"); }
    virtual void listen() { refuse("listen"); }
    virtual void report() { refuse("report"); }
    // Takes leave of the other side; the process ends next.
    virtual void finish() {}

  protected:
    void say(JsonObject event) { out_(std::move(event)); }
    void say_failed(const support::Error& error) {
        out_({{"event", "failed"}, {"reason", support::one_line(error)}});
    }

  private:
    void refuse(const char* what) {
        say_failed({support::ErrorCode::internal,
                    std::string("this role of the peer does not know '") + what + "'",
                    {}});
    }

    EventOut out_;
};

// The party of a specification; an Error when the specification lacks what its role needs.
support::Result<std::unique_ptr<Party>> make_party(asio::io_context& io, measure::PeerSpec spec,
                                                   EventOut out);

} // namespace mqcore::peer
