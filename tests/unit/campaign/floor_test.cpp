#include "campaign/harness_cost.hpp"
#include "campaign/revision.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using namespace mqcore::campaign;
using support::Json;
using support::JsonArray;

namespace {

driver::Descriptor client(std::string id, std::string host, std::uint32_t shape) {
    return {.id = std::move(id), .host = std::move(host), .claims = {.shape = shape}};
}

} // namespace

TEST_CASE(
    "a null client stands for the clients of its host and shape, the native one for all native") {
    const auto native = client("null", "", MQCORE_SHAPE_SYNC);
    const auto sync = client("python-null", "python", MQCORE_SHAPE_SYNC);
    CHECK(stands_for(native, client("paho-c", "", MQCORE_SHAPE_NOWAIT)));
    CHECK(stands_for(sync, client("paho", "python", MQCORE_SHAPE_SYNC)));
    CHECK_FALSE(stands_for(sync, client("gmqtt", "python", MQCORE_SHAPE_NOWAIT)));
    CHECK_FALSE(stands_for(sync, client("paho-c", "", MQCORE_SHAPE_SYNC)));
    CHECK_FALSE(stands_for(native, client("paho", "python", MQCORE_SHAPE_SYNC)));
}

TEST_CASE("a floor that cannot be measured is told for each client, with its own reason") {
    CampaignOptions options;
    options.plan.clients = {client("paho", "python", MQCORE_SHAPE_SYNC),
                            client("gmqtt", "python", MQCORE_SHAPE_NOWAIT),
                            client("paho-c", "", MQCORE_SHAPE_NOWAIT)};
    options.null_clients.not_ready = {
        {client("python-null", "python", MQCORE_SHAPE_SYNC), "never synced"},
        {client("python-null-nowait", "python", MQCORE_SHAPE_NOWAIT), "out of date"}};
    const auto measured = measure_floor(options);
    REQUIRE(measured);
    const Json& floor = *measured;
    CHECK(floor.at("rows").as_array().empty());
    CHECK(floor.at("clock_read").is_null());
    CHECK(floor.at("unavailable").at("paho") == "'python-null' is not ready: never synced");
    CHECK(floor.at("unavailable").at("gmqtt") == "'python-null-nowait' is not ready: out of date");
    CHECK(floor.at("unavailable").at("paho-c") == "there is no null client of its host and shape");
}

TEST_CASE("a null client that cannot be started leaves its reason and no error") {
    CampaignOptions options;
    options.plan.clients = {client("paho-c", "", MQCORE_SHAPE_NOWAIT)};
    options.null_clients.ready = {client("null", "", MQCORE_SHAPE_SYNC)};
    options.null_clients.setups["null"] = {};
    options.worker_program = "/nowhere/mqworker";
    const auto floor = measure_floor(options);
    REQUIRE(floor);
    CHECK(floor->at("rows").as_array().empty());
    CHECK(std::string(floor->at("unavailable").at("paho-c").as_string()).find("/nowhere") !=
          std::string::npos);
}

TEST_CASE("the program knows its revision, or says that it does not") {
    const std::string_view text = revision();
    const bool is_hash =
        text.substr(0, text.find('-')).find_first_not_of("0123456789abcdef") == text.npos;
    CHECK((text == "unknown" || (text.size() >= 12 && is_hash)));
}
