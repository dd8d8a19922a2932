#include "support/catch.hpp"
#include "worker/host.hpp"

using namespace mqcore::worker;

TEST_CASE("the first failure is kept and acted on, once") {
    DriverHost host("");
    int acted = 0;
    host.when_failed([&] { ++acted; });
    REQUIRE(acted == 0);
    host.fail(&host, MQCORE_NETWORK, "the broker closed the connection");
    host.fail(&host, MQCORE_LIBRARY, "a later one");
    REQUIRE(acted == 1);
    REQUIRE(host.failure()->status == MQCORE_NETWORK);
    REQUIRE(host.failure()->text == "the broker closed the connection");
}

TEST_CASE("a failure that was told before is acted on at once") {
    DriverHost host("");
    host.fail(&host, MQCORE_NETWORK, "lost while connecting");
    int acted = 0;
    host.when_failed([&] { ++acted; });
    REQUIRE(acted == 1);
}
