// The checker names the rule that a driver breaks, and no other.

#include "conformance/check_driver.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

#include <algorithm>

namespace {

using namespace mqcore;
using conformance::Outcome;

conformance::CheckReport check(const std::filesystem::path& driver) {
    const std::filesystem::path build = mqcore::tests::build_folder();
    const conformance::CheckOptions options{.worker_program = build / "bin/mqworker",
                                            .peer_program = build / "bin/mqpeer",
                                            .connect_limit_ns = 3 * support::kSecond,
                                            .patience_ns = 3 * support::kSecond};
    const driver::Catalogue catalogue =
        driver::discover({.plugin_path = {}, .roots = {build / "lib/mqcore/plugins"}});
    auto report = conformance::check_driver(driver.string(), catalogue, options);
    if (!report)
        FAIL(support::one_line(report.error()));
    return *std::move(report);
}

conformance::CheckReport check_shelf(const std::string& id) {
    return check(std::filesystem::path(MQCORE_SHELF) / id / (id + ".so"));
}

// What a busy machine alone can bring about.
bool is_of_time(const conformance::CheckResult& result) {
    return result.outcome == Outcome::warning &&
           (result.id == "listed-in-time" || result.id == "stops-in-time");
}

// Exactly this rule is broken, in this way, or kept in a bad manner. Its detail holds `words`.
void expect(const std::string& id, const std::string& rule, Outcome outcome,
            const std::string& words) {
    const conformance::CheckReport report = check_shelf(id);
    UNSCOPED_INFO(conformance::print(report, false));
    CHECK(conformance::conforms(report) == (outcome == Outcome::warning));
    CHECK(std::ranges::count(report.results, rule, &conformance::CheckResult::id) == 1);
    for (const conformance::CheckResult& result : report.results) {
        INFO(result.id << ": " << conformance::name_of(result.outcome) << " " << result.detail);
        if (result.id == rule) {
            CHECK(result.outcome == outcome);
            CHECK(result.detail.find(words) != std::string::npos);
        } else {
            CHECK((result.outcome == Outcome::pass || result.outcome == Outcome::skipped ||
                   is_of_time(result)));
        }
    }
}

void expect_conforming(const std::filesystem::path& driver, const std::vector<std::string>& skipped,
                       const std::vector<std::string>& warned = {}) {
    const conformance::CheckReport report = check(driver);
    UNSCOPED_INFO(conformance::print(report, false));
    for (const conformance::CheckResult& result : report.results) {
        INFO(result.id << ": " << conformance::name_of(result.outcome) << " " << result.detail);
        CHECK_FALSE(conformance::is_breach(result.outcome));
        CHECK((result.outcome == Outcome::skipped) ==
              (std::ranges::find(skipped, result.id) != skipped.end()));
        CHECK((result.outcome == Outcome::warning && !is_of_time(result)) ==
              (std::ranges::find(warned, result.id) != warned.end()));
    }
}

std::filesystem::path shipped(const std::string& id) {
    return mqcore::tests::build_folder() / "lib/mqcore/plugins" / id;
}

constexpr std::uint32_t kAllQos = MQCORE_QOS0 | MQCORE_QOS1 | MQCORE_QOS2;
constexpr std::uint32_t kV5Features =
    MQCORE_FEATURE_PUBLISH_PROPERTIES | MQCORE_FEATURE_TOPIC_ALIAS | MQCORE_FEATURE_RECEIVE_MAXIMUM;

// A client library keeps the contract and claims exactly this: the checks of other features are skipped.
void expect_client(const std::string& id, std::uint32_t shape, std::uint32_t protocols,
                   std::uint32_t features, std::uint32_t max_window,
                   const std::vector<std::string>& skipped,
                   const std::vector<std::string>& warned = {}) {
    const auto descriptor = driver::driver_named(shipped(id).string(), {});
    if (!descriptor)
        FAIL(support::one_line(descriptor.error()));
    CHECK(descriptor->claims == driver::Claims{.shape = shape,
                                               .protocols = protocols,
                                               .publish_qos = kAllQos,
                                               .subscribe_qos = kAllQos,
                                               .features = features,
                                               .max_window = max_window,
                                               .qos0_completion = MQCORE_QOS0_WRITTEN});
    expect_conforming(shipped(id), skipped, warned);
}

} // namespace

TEST_CASE("good-driver breaks no rule") {
    expect_conforming(std::filesystem::path(MQCORE_SHELF) / "good-driver",
                      {"many-connections", "receive-maximum", "publish-properties", "topic-alias",
                       "tls-verified"});
}
TEST_CASE("boost-mqtt5 keeps the contract") {
    expect_client("boost-mqtt5", MQCORE_SHAPE_NOWAIT, MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65534, {});
}
TEST_CASE("libmosquitto keeps the contract") {
    expect_client("libmosquitto", MQCORE_SHAPE_SYNC, MQCORE_V311 | MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65535, {});
}
TEST_CASE("mqtt-c keeps the contract") {
    expect_client("mqtt-c", MQCORE_SHAPE_SYNC, MQCORE_V311, MQCORE_FEATURE_MANY_CONNECTIONS, 65534,
                  {"receive-maximum", "publish-properties", "topic-alias", "tls-verified"});
}
TEST_CASE("paho-c keeps the contract") {
    expect_client("paho-c", MQCORE_SHAPE_NOWAIT, MQCORE_V311 | MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65534, {});
}
TEST_CASE("paho-c-sync keeps the contract") {
    expect_client("paho-c-sync", MQCORE_SHAPE_SYNC, MQCORE_V311 | MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65534, {});
}
TEST_CASE("paho-cpp keeps the contract") {
    expect_client("paho-cpp", MQCORE_SHAPE_NOWAIT, MQCORE_V311 | MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65534, {});
}
TEST_CASE("paho-golang keeps the contract") {
    expect_client("paho-golang", MQCORE_SHAPE_SYNC, MQCORE_V311,
                  MQCORE_FEATURE_TLS | MQCORE_FEATURE_FILTER_CALLBACKS |
                      MQCORE_FEATURE_MANY_CONNECTIONS,
                  65534, {"receive-maximum", "publish-properties", "topic-alias"},
                  {"starts-no-thread"}); // Go's runtime starts with its library
}
TEST_CASE("rumqttc keeps the contract") {
    expect_client("rumqttc", MQCORE_SHAPE_NOWAIT, MQCORE_V311 | MQCORE_V5,
                  MQCORE_FEATURE_TLS | kV5Features | MQCORE_FEATURE_MANY_CONNECTIONS, 65533, {});
}
TEST_CASE("null keeps the contract, and is not asked what needs a network") {
    expect_conforming(shipped("null"), {"refused-port-is-error",
                                        "refused-connect-is-error",
                                        "refused-subscription-is-error",
                                        "lower-qos-is-unsupported",
                                        "publishes-all",
                                        "done-not-early",
                                        "receives-all",
                                        "payload-intact",
                                        "speaks-mqtt",
                                        "many-connections",
                                        "receive-maximum",
                                        "filter-index-right",
                                        "publish-properties",
                                        "topic-alias",
                                        "tls-verified",
                                        "lost-connection-is-error",
                                        "received-one-at-a-time",
                                        "stamp-kept",
                                        "topic-right",
                                        "shape-as-declared",
                                        "memory-bounded",
                                        "unclaimed-is-unsupported"});
}

// The library and its table.
TEST_CASE("not-a-library does not load") {
    expect("not-a-library", "loads", Outcome::fail, "not-a-library.so");
}
TEST_CASE("unresolved-symbol does not load, and the symbol is named") {
    expect("unresolved-symbol", "loads", Outcome::fail, "a_function_that_nobody_defines");
}
TEST_CASE("no-entry has no entry point") {
    expect("no-entry", "entry-point", Outcome::fail, "does not export mqcore_driver_entry()");
}
TEST_CASE("null-entry has an entry point without a table, and its reason is shown") {
    expect("null-entry", "entry-point", Outcome::fail, "cannot host '");
}
TEST_CASE("wrong-magic is no driver's table") {
    expect("wrong-magic", "magic-and-size", Outcome::fail, "0x7f454c46, expected 0x3142514d");
}
TEST_CASE("other-major speaks another ABI") {
    expect("other-major", "abi-version", Outcome::fail, "driver ABI 2.0, this mqcore speaks 1.0");
}
TEST_CASE("needs-newer-host speaks a later ABI") {
    expect("needs-newer-host", "abi-version", Outcome::fail, "needs driver ABI 1.7 or newer");
}
TEST_CASE("null-function lacks a function") {
    expect("null-function", "functions-present", Outcome::fail, "null in its table: drive");
}
TEST_CASE("other-claims differs from its driver.toml") {
    expect("other-claims", "info-equals-descriptor", Outcome::fail,
           "publish_qos is 0x7, driver.toml says 0x3");
}

TEST_CASE("exports-more exports more than its entry") {
    expect("exports-more", "exports-entry-only", Outcome::warning,
           "exports besides: mqtt_client_version");
}
TEST_CASE("executable-stack asks for an executable stack") {
    expect("executable-stack", "no-executable-stack", Outcome::fail, "-z noexecstack");
}
TEST_CASE("changes-claims claims something else after create") {
    expect("changes-claims", "info-constant", Outcome::fail, "its info is another after create()");
}
TEST_CASE("another-table makes a table each time") {
    expect("another-table", "info-constant", Outcome::fail, "another table each time");
}
TEST_CASE("starts-thread starts a thread when it is opened") {
    expect("starts-thread", "starts-no-thread", Outcome::warning, "started 1 thread");
}
TEST_CASE("lists-slowly takes long to be listed") {
    expect("lists-slowly", "listed-in-time", Outcome::warning, "asking for its table takes");
}

// Life.
TEST_CASE("creates-once cannot be created again") {
    expect("creates-once", "creates-again", Outcome::fail,
           "the second time: the library was started");
}
TEST_CASE("destroys-what-never-was crashes where connect() failed") {
    expect("destroys-what-never-was", "destroys-unconnected", Outcome::crashed, "in destroy()");
}
TEST_CASE("connects-once cannot connect again") {
    expect("connects-once", "connects-again", Outcome::fail, "it was connected before");
}
TEST_CASE("spins asks again and again") {
    expect("spins", "wait-not-spun", Outcome::fail, "wait until wake_ns");
}
TEST_CASE("crashes-in-create crashes in create") {
    expect("crashes-in-create", "create-destroy", Outcome::crashed, "in create()");
}
TEST_CASE("crashes-in-connect crashes in connect") {
    expect("crashes-in-connect", "connects", Outcome::crashed, "in connect()");
}
TEST_CASE("unsupported-in-connect never connects") {
    expect("unsupported-in-connect", "connects", Outcome::fail, "granted QoS 0 instead of 1");
}
TEST_CASE("hangs-in-connect never connects") {
    expect("hangs-in-connect", "connects", Outcome::timed_out, "connect() did not return in time");
}
TEST_CASE("ignores-refused-port connects to nobody") {
    expect("ignores-refused-port", "refused-port-is-error", Outcome::fail, "nobody listens");
}
TEST_CASE("ignores-refusal connects where it was refused") {
    expect("ignores-refusal", "refused-connect-is-error", Outcome::fail,
           "connect() succeeded although");
}
TEST_CASE("ignores-refused-subscription connects without its subscription") {
    expect("ignores-refused-subscription", "refused-subscription-is-error", Outcome::fail,
           "connect() succeeded although");
}
TEST_CASE("accepts-lower-qos takes less than it asked for") {
    expect("accepts-lower-qos", "lower-qos-is-unsupported", Outcome::fail,
           "connect() succeeded although");
}
TEST_CASE("ignores-options takes an unknown option") {
    expect("ignores-options", "unknown-option-is-error", Outcome::fail, "does not know");
}
TEST_CASE("crashes-in-drive crashes in drive") {
    expect("crashes-in-drive", "stop-at-once", Outcome::crashed, "in drive()");
}
TEST_CASE("exits-in-drive ends the process in drive") {
    expect("exits-in-drive", "stop-at-once", Outcome::crashed, "with exit code");
}
TEST_CASE("hangs-in-drive never returns from drive") {
    expect("hangs-in-drive", "stop-at-once", Outcome::timed_out, "drive() did not return in time");
}
TEST_CASE("returns-without-stop returns too early") {
    expect("returns-without-stop", "returns-only-after-stop", Outcome::fail, "returned before");
}
TEST_CASE("next-after-stop asks again") {
    expect("next-after-stop", "no-next-after-stop", Outcome::fail, "after it had answered STOP");
}
TEST_CASE("next-off-drive-thread asks from another thread") {
    expect("next-off-drive-thread", "next-on-drive-thread-only", Outcome::fail,
           "from another thread");
}
TEST_CASE("crashes-in-disconnect crashes in disconnect") {
    expect("crashes-in-disconnect", "disconnects", Outcome::crashed, "in disconnect()");
}
TEST_CASE("hangs-in-disconnect never returns from disconnect") {
    expect("hangs-in-disconnect", "disconnects", Outcome::timed_out, "disconnect()");
}
TEST_CASE("done-after-disconnect completes too late") {
    expect("done-after-disconnect", "silent-after-disconnect", Outcome::fail,
           "done() was called after");
}
TEST_CASE("received-after-disconnect reports too late") {
    expect("received-after-disconnect", "silent-after-disconnect", Outcome::fail,
           "received() was called after");
}

// Messages.
TEST_CASE("mixes-topics publishes on another topic") {
    expect("mixes-topics", "topic-right", Outcome::fail,
           "went out on 'mqcore/check/a', its topic is 'mqcore/check/b/c'");
}
TEST_CASE("renews-stamp changes the time of publishing") {
    expect("renews-stamp", "stamp-kept", Outcome::fail, "the core had written");
}
TEST_CASE("guesses-filter names a filter without the claim") {
    expect("guesses-filter", "filter-index-right", Outcome::fail,
           "100 of 100 messages came with the index of a filter");
}
TEST_CASE("receives-at-once reports from two threads at the same time") {
    expect("receives-at-once", "received-one-at-a-time", Outcome::fail,
           "while another call was inside");
}
TEST_CASE("one-at-a-time leaves the window empty") {
    expect("one-at-a-time", "shape-as-declared", Outcome::fail,
           "with 16 messages in flight allowed it took");
}
TEST_CASE("awaits-elsewhere completes on another thread than its shape says") {
    expect("awaits-elsewhere", "shape-as-declared", Outcome::fail,
           "on another thread than drive()'s");
}
TEST_CASE("sends-late does not keep the time") {
    expect("sends-late", "sends-when-due", Outcome::fail, "after they were due");
}
TEST_CASE("leaks keeps what it has sent") {
    expect("leaks", "memory-bounded", Outcome::fail, "bytes a message of 4096 bytes");
}
TEST_CASE("takes-unclaimed takes what it does not claim") {
    expect("takes-unclaimed", "unclaimed-is-unsupported", Outcome::warning,
           "with MQCORE_UNSUPPORTED what it does not claim: 'tls'");
}
TEST_CASE("never-completes completes nothing") {
    expect("never-completes", "done-exactly-once", Outcome::fail, "were never completed");
}
TEST_CASE("completes-twice completes twice") {
    expect("completes-twice", "done-exactly-once", Outcome::fail, "a slot that was not out");
}
TEST_CASE("completes-unknown-slot completes what was never handed out") {
    expect("completes-unknown-slot", "done-exactly-once", Outcome::fail, "outside the window");
}
TEST_CASE("completes-early completes before the acknowledgement") {
    expect("completes-early", "done-not-early", Outcome::fail, "has not acknowledged any");
}
TEST_CASE("loses-messages loses messages") {
    expect("loses-messages", "publishes-all", Outcome::fail,
           "drive() took 100 messages, 90 arrived");
}
TEST_CASE("lowers-qos publishes at another QoS") {
    expect("lowers-qos", "publishes-all", Outcome::fail,
           "MQTT 3.1.1, QoS 1: 100 messages went out at QoS 0");
}
TEST_CASE("doubles-arrivals reports arrivals twice") {
    expect("doubles-arrivals", "receives-all", Outcome::fail, "100 messages were reported twice");
}
TEST_CASE("damages-payload changes what it sends") {
    expect("damages-payload", "payload-intact", Outcome::fail, "publishing, MQTT 3.1.1, QoS 1: ");
}
TEST_CASE("damages-arrivals changes what it receives") {
    expect("damages-arrivals", "payload-intact", Outcome::fail, "receiving, MQTT 3.1.1, QoS 1: ");
}
TEST_CASE("acknowledges-unknown acknowledges what it was never sent") {
    expect("acknowledges-unknown", "speaks-mqtt", Outcome::fail, "'unknown_acks'");
}
TEST_CASE("stops-late ignores the end") {
    expect("stops-late", "stops-in-time", Outcome::fail, "after the end");
}
TEST_CASE("survives-lost-connection goes on without a connection") {
    expect("survives-lost-connection", "lost-connection-is-error", Outcome::fail, "without a word");
}
