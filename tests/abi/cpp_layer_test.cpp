// driver.hpp: a class becomes the table, exceptions stop at it, and its views show what the core set.

#include "mqcore/driver.hpp"
#include "support/catch.hpp"

#include <map>
#include <vector>

namespace {

namespace plugin = mqcore::plugin;

// What the driver below does in its next call.
enum class Act { succeed, throw_failure, throw_standard, throw_number };
Act next_act = Act::succeed;

void act() {
    switch (next_act) {
    case Act::succeed:
        return;
    case Act::throw_failure:
        throw plugin::Failure(MQCORE_NETWORK, "refused");
    case Act::throw_standard:
        throw std::logic_error("no such thing");
    case Act::throw_number:
        throw 7;
    }
}

int instances = 0;

class Driver {
  public:
    explicit Driver(plugin::Host host) : host_(host) {
        act();
        host_.note("library.version", "1.2");
        ++instances;
    }
    ~Driver() { --instances; }
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    void connect(plugin::Run run) {
        act();
        run.refuse_options();
        for (const char* topic : run.topics())
            topics_.emplace_back(topic);
        host_.note("client", run.client_id(2));
    }
    void drive(plugin::Source source, plugin::Sink sink) {
        act();
        plugin::Message message;
        for (;;) {
            switch (source.next(message)) {
            case plugin::Next::send:
                sink.received(message.payload(), message.payload_bytes(), 3, message.connection());
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
    void disconnect() { act(); }
    const void* extension(std::string_view id) {
        act();
        return id == "mqcore.test/1" ? this : nullptr;
    }

  private:
    plugin::Host host_;
    std::vector<std::string> topics_;
};

constexpr auto kClaims = plugin::Claims("cpp", "A Library")
                             .shape(MQCORE_SHAPE_SYNC)
                             .protocols(MQCORE_V5)
                             .publish(MQCORE_QOS0 | MQCORE_QOS1)
                             .subscribe(MQCORE_QOS1)
                             .features(MQCORE_FEATURE_TLS)
                             .max_window(9)
                             .qos0_completion(MQCORE_QOS0_DRAINED)
                             .needs_host_minor(0);

// A host, a source and a sink that remember.
struct Host : mqcore_host {
    Host()
        : mqcore_host{
              .size = sizeof(mqcore_host),
              .abi_major = MQCORE_ABI_MAJOR,
              .abi_minor = MQCORE_ABI_MINOR,
              .version = "0",
              .environment = nullptr,
              .extension = [](const mqcore_host*, const char*) -> const void* { return nullptr; },
              .log = [](const mqcore_host*, std::int32_t, const char*) {},
              .fail = [](const mqcore_host* host, std::int32_t status,
                         const char* text) { of(host).failures.emplace_back(status, text); },
              .note = [](const mqcore_host* host, const char* key,
                         const char* value) { of(host).notes[key] = value; }} {}

    static Host& of(const mqcore_host* host) {
        return *static_cast<Host*>(const_cast<mqcore_host*>(host));
    }

    std::vector<std::pair<std::int32_t, std::string>> failures;
    std::map<std::string, std::string> notes;
};

struct Source : mqcore_source {
    Source()
        : mqcore_source{
              .size = sizeof(mqcore_source),
              .reserved = 0,
              .wake_ns = 0,
              .next =
                  [](mqcore_source* source, const mqcore_message** out) {
                      auto& self = *static_cast<Source*>(source);
                      *out = &self.message;
                      return self.answers[self.asked++];
                  },
              .wait = [](mqcore_source* source) { ++static_cast<Source*>(source)->waited; }} {
        message.payload = payload;
        message.payload_bytes = sizeof payload;
        message.slot = 5;
        message.connection = 4;
    }

    std::uint8_t payload[3] = {1, 2, 3};
    mqcore_message message{};
    std::vector<std::int32_t> answers{MQCORE_WAIT, MQCORE_SEND, MQCORE_DRAIN, MQCORE_STOP};
    std::size_t asked = 0;
    int waited = 0;
};

struct Sink : mqcore_sink {
    Sink()
        : mqcore_sink{
              .size = sizeof(mqcore_sink),
              .reserved = 0,
              .done =
                  [](mqcore_sink* sink, std::uint32_t slot, std::int32_t status) {
                      static_cast<Sink*>(sink)->done_slots.emplace_back(slot, status);
                  },
              .received =
                  [](mqcore_sink* sink, const void*, std::uint32_t bytes, std::uint32_t filter,
                     std::uint32_t connection) {
                      static_cast<Sink*>(sink)->arrivals.push_back({bytes, filter, connection});
                  }} {}

    std::vector<std::pair<std::uint32_t, std::int32_t>> done_slots;
    std::vector<std::vector<std::uint32_t>> arrivals;
};

mqcore_run make_run() {
    static const char* const kTopics[] = {"a", "b"};
    mqcore_run run{};
    run.size = sizeof run;
    run.protocol = MQCORE_V5;
    run.host = "127.0.0.1";
    run.client_id = "id";
    run.topics = kTopics;
    run.topic_count = 2;
    return run;
}

} // namespace

MQCORE_DRIVER(Driver, kClaims)

TEST_CASE("the table of a class is complete and carries its claims") {
    const mqcore_driver* table = mqcore_driver_entry("");
    CHECK(table->magic == MQCORE_MAGIC);
    CHECK(table->size == sizeof(mqcore_driver));
    CHECK(table->abi_major == MQCORE_ABI_MAJOR);
    CHECK(table->info->size == sizeof(mqcore_info));
    CHECK(std::string(table->info->id) == "cpp");
    CHECK(table->info->protocols == MQCORE_V5);
    CHECK(table->info->publish_qos == (MQCORE_QOS0 | MQCORE_QOS1));
    CHECK(table->info->subscribe_qos == MQCORE_QOS1);
    CHECK(table->info->features == MQCORE_FEATURE_TLS);
    CHECK(table->info->max_window == 9);
    CHECK(table->info->qos0_completion == MQCORE_QOS0_DRAINED);
    CHECK(table == mqcore_driver_entry("elsewhere"));
}

TEST_CASE("a driver class lives through the table") {
    next_act = Act::succeed;
    const mqcore_driver* table = mqcore_driver_entry("");
    Host host;
    Source source;
    Sink sink;
    const mqcore_run run = make_run();
    void* self = nullptr;

    REQUIRE(table->create(&host, &self) == MQCORE_OK);
    CHECK(instances == 1);
    CHECK(table->connect(self, &run) == MQCORE_OK);
    CHECK(table->drive(self, &source, &sink) == MQCORE_OK);
    CHECK(table->extension(self, "mqcore.test/1") != nullptr);
    CHECK(table->extension(self, "mqcore.other/1") == nullptr);
    CHECK(table->disconnect(self) == MQCORE_OK);
    table->destroy(self);

    CHECK(instances == 0);
    CHECK(source.waited == 2);
    CHECK(sink.done_slots == std::vector<std::pair<std::uint32_t, std::int32_t>>{{5, MQCORE_OK}});
    CHECK(sink.arrivals == std::vector<std::vector<std::uint32_t>>{{3, 3, 4}});
    CHECK(host.notes ==
          std::map<std::string, std::string>{{"client", "id-2"}, {"library.version", "1.2"}});
    CHECK(host.failures.empty());
}

TEST_CASE("an exception becomes a status and a text, and nothing crosses the boundary") {
    const struct {
        Act act;
        std::int32_t status;
        std::string text;
    } cases[] = {{Act::throw_failure, MQCORE_NETWORK, "refused"},
                 {Act::throw_standard, MQCORE_LIBRARY, "no such thing"},
                 {Act::throw_number, MQCORE_LIBRARY, "an exception of unknown type"}};
    const mqcore_driver* table = mqcore_driver_entry("");
    const mqcore_run run = make_run();
    for (const auto& expected : cases) {
        CAPTURE(expected.text);
        Host host;
        Source source;
        Sink sink;
        void* self = nullptr;

        next_act = Act::succeed;
        REQUIRE(table->create(&host, &self) == MQCORE_OK);
        next_act = expected.act;
        CHECK(table->connect(self, &run) == expected.status);
        CHECK(table->drive(self, &source, &sink) == expected.status);
        CHECK(table->disconnect(self) == expected.status);
        CHECK(table->extension(self, "mqcore.test/1") == nullptr);
        CHECK(host.failures == std::vector<std::pair<std::int32_t, std::string>>(
                                   4, {expected.status, expected.text}));
        table->destroy(self);
        next_act = Act::succeed;
    }
}

TEST_CASE("a constructor that throws leaves nothing to destroy") {
    const mqcore_driver* table = mqcore_driver_entry("");
    Host host;
    void* self = &host;
    next_act = Act::throw_failure;
    CHECK(table->create(&host, &self) == MQCORE_NETWORK);
    CHECK(self == nullptr);
    CHECK(instances == 0);
    next_act = Act::succeed;
}

TEST_CASE("a driver without options refuses one by name") {
    const mqcore_driver* table = mqcore_driver_entry("");
    Host host;
    void* self = nullptr;
    REQUIRE(table->create(&host, &self) == MQCORE_OK);
    const mqcore_option option{"speed", "high"};
    mqcore_run run = make_run();
    run.options = &option;
    run.option_count = 1;
    CHECK(table->connect(self, &run) == MQCORE_CONFIG);
    CHECK(host.failures.at(0).second == "unknown option 'speed': this driver has no options");
    table->destroy(self);
}
