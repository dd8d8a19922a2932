#include "session/broker.hpp"

#include "scratch.hpp"

using namespace mqcore::session;

namespace {

std::string problem_with(std::string_view url) {
    const auto parsed = parse_broker_url(url);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().hint.find("mqtt://HOST") != std::string::npos);
    return parsed.error().message;
}

} // namespace

TEST_CASE("a broker's URL gives host, port and whether TLS is meant") {
    struct {
        const char* text;
        const char* host;
        int port;
        bool has_tls;
    } const cases[] = {
        {"mqtt://localhost:1884", "localhost", 1884, false},
        {"mqtt://broker.example", "broker.example", 1883, false},
        {"mqtts://broker.example/", "broker.example", 8883, true},
        {"mqtt://127.0.0.1:65535", "127.0.0.1", 65535, false},
        {"mqtt://[::1]:1883", "::1", 1883, false},
        {"mqtts://[::1]", "::1", 8883, true},
        {"mqtt://[fe80::1%eth0]:1883", "fe80::1%eth0", 1883, false},
    };
    for (const auto& expected : cases) {
        INFO(expected.text);
        const auto url = parse_broker_url(expected.text);
        REQUIRE(url);
        CHECK(url->host == expected.host);
        CHECK(url->port == expected.port);
        CHECK(url->has_tls == expected.has_tls);
    }
}

TEST_CASE("a wrong URL is refused with what is wrong in it") {
    CHECK(problem_with("localhost:1883") ==
          "broker 'localhost:1883': it does not start with mqtt:// or mqtts://");
    CHECK(problem_with("mqtt://::1:1883") ==
          "broker 'mqtt://::1:1883': an IPv6 address needs brackets");
    CHECK(problem_with("mqtt://[::1") == "broker 'mqtt://[::1': the bracket is not closed");
    CHECK(problem_with("mqtt://[::g]:1") == "broker 'mqtt://[::g]:1': '::g' is no IPv6 address");
    CHECK(problem_with("mqtt://[::1]1883") ==
          "broker 'mqtt://[::1]1883': '1883' after the bracket");
    CHECK(problem_with("mqtt://host:0") == "broker 'mqtt://host:0': '0' is no port (1 to 65535)");
    CHECK(problem_with("mqtt://host:70000") ==
          "broker 'mqtt://host:70000': '70000' is no port (1 to 65535)");
    CHECK(problem_with("mqtt://host:") == "broker 'mqtt://host:': '' is no port (1 to 65535)");
    CHECK(problem_with("mqtt://") == "broker 'mqtt://': there is no host");
    CHECK(problem_with("mqtt://me@host") ==
          "broker 'mqtt://me@host': user names are not supported");
    CHECK(problem_with("mqtt://host/topic") ==
          "broker 'mqtt://host/topic': a path has no meaning here");
}

TEST_CASE("an external broker that nobody serves is an error that lists what was tried") {
    // Port 1 is reserved and never served.
    const auto broker = use_external_broker({.host = "localhost", .port = 1}, "");
    REQUIRE_FALSE(broker);
    CHECK(broker.error().code == mqcore::support::ErrorCode::broker);
    CHECK(broker.error().message.find("127.0.0.1 port 1: Connection refused") != std::string::npos);
}

TEST_CASE("a host name without an address is an error that says so") {
    const auto broker = use_external_broker({.host = "no-such-host.invalid", .port = 1883}, "");
    REQUIRE_FALSE(broker);
    CHECK(broker.error().message.find("no-such-host.invalid") != std::string::npos);
}
