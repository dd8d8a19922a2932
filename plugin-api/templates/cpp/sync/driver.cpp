// The driver my-driver: it adapts one MQTT client library to mqcore. The contract is mqcore/driver.h, which
// mqcore/driver.hpp makes a class.
//
// It works as it stands, with tiny_mqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and keep
// ./test.sh green. Nothing here counts, paces or reads a clock: mqcore does.
#include <mqcore/driver.hpp>

#include "tiny_mqtt.hpp" // YOUR LIBRARY: its header, here and in CMakeLists.txt

#include <optional>
#include <string>
#include <vector>

namespace {

using mqcore::plugin::Failure;
using mqcore::plugin::Host;
using mqcore::plugin::Message;
using mqcore::plugin::Next;
using mqcore::plugin::Run;
using mqcore::plugin::Sink;
using mqcore::plugin::Source;

// What a function cannot do, it throws as a Failure: its text becomes the run's reason. Any other exception
// becomes MQCORE_LIBRARY, but a library's own callbacks must not throw.
class Driver {
  public:
    // Makes what is needed without a network.
    explicit Driver(Host host) {
        host.note("library.version", "0"); // YOUR LIBRARY: its version, as it says itself
    }

    // Returns when the broker has confirmed the connection and every subscription.
    void connect(Run run) {
        run.refuse_options();
        topics_.assign(run.topics().begin(), run.topics().end());

        // YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is lost
        // must end the run. Here, too, belongs whatever caps or delays: set its limit of messages in flight
        // to run.window() or more, switch Nagle's algorithm off, store nothing on disk.
        client_.emplace();
        client_->on_acknowledged = [this](std::uint16_t id) {
            if (sink_)
                sink_.done(id - 1u); // PUBACK; the identifier is the slot + 1, see publish()
        };
        client_->on_message = [this](const std::uint8_t* payload, std::size_t bytes) {
            if (sink_)
                sink_.received(payload, static_cast<std::uint32_t>(bytes));
        };

        network([&] {
            // YOUR LIBRARY: connect, wait for CONNACK, at most 10 s.
            client_->connect(run.host(), run.port(), run.client_id(),
                             static_cast<std::uint16_t>(run.keepalive_s()));
            // YOUR LIBRARY: subscribe, wait for SUBACK. A lower QoS than asked for is no success.
            for (const char* filter : run.filters())
                check_granted(
                    filter, run.filter_qos(),
                    client_->subscribe(filter, static_cast<std::uint8_t>(run.filter_qos())));
        });
    }

    // The loop. Returns only after Next::stop.
    void drive(Source source, Sink sink) {
        sink_ = sink;
        Message message;
        for (unsigned in_a_row = 0;;) {
            std::uint64_t until_ns = 0;
            switch (source.next(message)) {
            case Next::send:
                publish(message);
                if (++in_a_row % 64 != 0)
                    continue;
                break; // let the library work now and then
            case Next::stop:
                return;
            case Next::wait:
            case Next::drain:
                until_ns = source.wake_ns();
            }
            // YOUR LIBRARY: let it work until then, or until something completes. With threads of its own it
            // needs nothing here: call source.wait() on wait and drain.
            network([&] { client_->serve(until_ns); });
        }
    }

    // Leaves the broker in the proper way. Once it has returned no callback may reach the sink.
    void disconnect() {
        sink_ = Sink();
        client_->disconnect(); // YOUR LIBRARY
        client_.reset();
    }

  private:
    // YOUR LIBRARY: its exception or error code for a connection that is refused or lost.
    template <class Call>
    static void network(Call&& call) {
        try {
            call();
        } catch (const tiny_mqtt::Error& error) {
            throw Failure(MQCORE_NETWORK, error.what());
        }
    }

    static void check_granted(const std::string& filter, std::uint32_t wanted,
                              std::uint8_t granted) {
        if (granted >= 0x80)
            throw Failure(MQCORE_NETWORK, "the broker refused to subscribe '" + filter + "'");
        if (granted < wanted)
            throw Failure(MQCORE_UNSUPPORTED, "the broker granted QoS " + std::to_string(granted) +
                                                  " for '" + filter + "', QoS " +
                                                  std::to_string(wanted) + " was asked for");
    }

    // Hands one message over.
    //
    // How do you find the slot when an acknowledgement comes? tiny_mqtt takes the packet identifier from its
    // caller. Most libraries choose it themselves: keep the slot in the message's context if there is one,
    // else in an array by packet identifier. The acknowledgement may come on another thread before the
    // publishing call has returned.
    void publish(Message message) {
        // YOUR LIBRARY: publish. The payload goes out as it is and stays put until done().
        network([&] {
            client_->publish(topics_[message.topic()], message.payload(), message.payload_bytes(),
                             message.qos(), message.retain(),
                             static_cast<std::uint16_t>(message.slot() + 1));
        });
        if (message.qos() == 0)
            sink_.done(message.slot()); // written: see qos0_completion
    }

    std::vector<std::string> topics_;
    Sink sink_; // from drive() to disconnect(): nothing of the run is sent outside of it
    std::optional<tiny_mqtt::Client> client_; // YOUR LIBRARY
};

// YOUR LIBRARY: what it can do, the same as in driver.toml. What is not claimed is refused, never tried.
constexpr auto kClaims = mqcore::plugin::Claims("my-driver", "tiny_mqtt")
                             .shape(MQCORE_SHAPE_SYNC)
                             .protocols(MQCORE_V311)
                             .publish(MQCORE_QOS0 | MQCORE_QOS1)
                             .subscribe(MQCORE_QOS0 | MQCORE_QOS1)
                             .max_window(65535)
                             .qos0_completion(MQCORE_QOS0_WRITTEN);

} // namespace

MQCORE_DRIVER(Driver, kClaims)
