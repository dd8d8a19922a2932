// driver.hpp alone: the smallest driver.
#include "mqcore/driver.hpp"

namespace {

namespace plugin = mqcore::plugin;

class Driver {
  public:
    explicit Driver(plugin::Host host) : host_(host) { host_.note("library.version", "1"); }
    void connect(plugin::Run run) { run.refuse_options(); }
    void drive(plugin::Source source, plugin::Sink sink) {
        plugin::Message message;
        for (;;) {
            switch (source.next(message)) {
            case plugin::Next::send:
                sink.done(message.slot());
                break;
            case plugin::Next::wait:
            case plugin::Next::drain:
                source.wait();
                break;
            case plugin::Next::stop:
                return;
            }
        }
    }
    void disconnect() {}

  private:
    plugin::Host host_;
};

constexpr auto kClaims = plugin::Claims("header", "none")
                             .shape(MQCORE_SHAPE_SYNC)
                             .protocols(MQCORE_V311 | MQCORE_V5)
                             .publish(MQCORE_QOS0)
                             .qos0_completion(MQCORE_QOS0_HANDED_OVER);

} // namespace

MQCORE_DRIVER(Driver, kClaims)
