#include "campaign/resume.hpp"

#include "support/campaign_documents.hpp"
#include "support/catch.hpp"

using namespace mqcore;
using namespace mqcore::campaign;
using support::Json;
using support::JsonObject;

namespace {

std::vector<std::string> changes_after(void (*change)(Json& manifest)) {
    const Json was = tests::campaign_documents().manifest;
    Json is = was;
    change(is);
    return changes_between(frozen_identity(was), frozen_identity(is));
}

} // namespace

TEST_CASE("nothing has changed in the same manifest, nor by what every session does anew") {
    REQUIRE(changes_after([](Json&) {}).empty());
    REQUIRE(changes_after([](Json& manifest) {
                JsonObject& object = manifest.as_object();
                object["state"] = "running";
                object["created"] = "2026-01-01T00:00:00Z";
                object["ceilings"] = nullptr;
                object["harness_floor"] = nullptr;
                object["comparable"] = false;
                object["broker"].as_object()["witness"] = JsonObject{};
            }).empty());
}

TEST_CASE("each part that must not change is named by its path, with what it was and is") {
    struct Case {
        void (*change)(Json& manifest);
        std::string told;
    };
    const Case cases[] = {
        {[](Json& m) { tests::at(m, "mqcore.programs.mqcore") = std::string(64, 'f'); },
         "mqcore.programs.mqcore: bbbbbbbbbbbb… → ffffffffffff…"},
        {[](Json& m) { tests::at(m, "mqcore.programs").as_object()["mqpeer"] = "x"; },
         "mqcore.programs.mqpeer: nothing → 'x'"},
        {[](Json& m) { tests::at(m, "mqcore.programs").as_object()["mqworker"] = "x"; },
         "mqcore.programs.mqworker: nothing → 'x'"},
        {[](Json& m) {
             JsonObject& client = m.at("clients").as_array()[1].as_object();
             client["environment"] = JsonObject{{"lock", "a"}};
         },
         "clients.paho.environment.lock: nothing → 'a'"},
        {[](Json& m) {
             JsonObject& client = m.at("clients").as_array()[1].as_object();
             client["environment"] = JsonObject{{"interpreter", JsonObject{{"version", "3.13.0"}}}};
         },
         "clients.paho.environment.interpreter.version: nothing → '3.13.0'"},
        {[](Json& m) {
             JsonObject& client = m.at("clients").as_array()[2].as_object();
             client["linked"] = JsonObject{{"libpaho-mqtt3as.so.1", "x"}};
         },
         "clients.paho-c.linked.libpaho-mqtt3as.so.1: nothing → 'x'"},
        {[](Json& m) { m.at("clients").as_array()[0].at("files").as_object().clear(); },
         "clients.gmqtt.files.driver.toml: aaaaaaaaaaaa… → nothing"},
        {[](Json& m) { m.at("clients").as_array()[2].at("options").as_object()["x"] = "1"; },
         "clients.paho-c.options.x: nothing → '1'"},
        {[](Json& m) { m.at("scenarios").as_array()[0].as_object()["sha256"] = "x"; },
         "scenarios.core.toml.sha256: cccccccccccc… → 'x'"},
        {[](Json& m) { tests::at(m, "profile.runs") = 5; }, "profile.runs: 2 → 5"},
        {[](Json& m) { tests::at(m, "broker.version") = "2.1.0"; },
         "broker.version: '2.0.11' → '2.1.0'"},
        {[](Json& m) { tests::at(m, "broker.binary_sha256") = "x"; },
         "broker.binary_sha256: eeeeeeeeeeee… → 'x'"},
        {[](Json& m) { tests::at(m, "broker.config_sha256") = "x"; },
         "broker.config_sha256: dddddddddddd… → 'x'"},
        {[](Json& m) { tests::at(m, "broker.managed") = false; }, "broker.managed: true → false"},
        {[](Json& m) { tests::at(m, "machine").as_object()["kernel"] = "6.1"; },
         "machine.kernel: nothing → '6.1'"},
        {[](Json& m) { tests::at(m, "machine.cpu_model") = "another"; },
         "machine.cpu_model: 'a processor' → 'another'"},
        {[](Json& m) {
             tests::at(m, "cores.cpus.client") = support::JsonArray{1, 5};
         },
         "cores.cpus.client: [1] → [1,5]"}};
    for (const Case& one : cases)
        REQUIRE(changes_after(one.change) == std::vector<std::string>{one.told});
}

TEST_CASE("two hashes that begin alike are two") {
    const std::string was(64, 'a');
    REQUIRE(
        changes_between(JsonObject{{"hash", was}}, JsonObject{{"hash", std::string(63, 'a') + "b"}})
            .size() == 1);
}

TEST_CASE("what is done of each planned run: attempts, and whether the last one settled it") {
    const auto run = [](const char* point, const char* client, int number, int attempt,
                        const char* status) {
        return Json(JsonObject{{"point", point},
                               {"client_name", client},
                               {"run", number},
                               {"attempt", attempt},
                               {"status", status}});
    };
    const auto done =
        attempted({run("p", "a", 1, 1, "valid"), run("p", "a", 2, 1, "invalid"),
                   run("p", "b", 1, 1, "invalid"), run("p", "b", 1, 2, "not_sustained"),
                   run("q", "a", 1, 1, "invalid"), run("q", "a", 1, 2, "invalid"),
                   run("q", "b", 1, 1, "unsupported")});
    REQUIRE(done.size() == 5);
    const auto is = [&](const char* point, const char* client, std::uint64_t number,
                        std::uint32_t attempts, bool is_settled) {
        const Attempted& one = done.at({point, client, number});
        return one.attempts == attempts && one.is_settled == is_settled;
    };
    REQUIRE(is("p", "a", 1, 1, true));
    REQUIRE(is("p", "a", 2, 1, false)); // gets its second attempt
    REQUIRE(is("p", "b", 1, 2, true));
    REQUIRE(is("q", "a", 1, 2, false)); // has had it
    REQUIRE(is("q", "b", 1, 1, true));
}
