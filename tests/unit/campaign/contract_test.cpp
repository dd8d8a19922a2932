// What a check found is kept for the driver as it was checked, and for no other.

#include "campaign/contract.hpp"
#include "campaign/manifest.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "verdict/context.hpp"

#include <cstdlib>

namespace {

using namespace mqcore;
using campaign::contract_of;
using campaign::keep_check;

// A driver's folder and a home of its own for what is kept.
struct Place {
    tests::TemporaryFolder folder;
    driver::Descriptor driver;

    Place() {
        ::setenv("XDG_DATA_HOME", (folder.path() / "data").c_str(), 1);
        driver.id = driver.driver_id = "mine";
        driver.folder = folder.write("driver/driver.toml", "one").parent_path();
        folder.write("driver/mine.so", "library");
    }
    ~Place() { ::unsetenv("XDG_DATA_HOME"); }

    support::Json contract() const {
        const auto files = campaign::hashes_of_driver(driver);
        REQUIRE(files);
        return contract_of(driver, *files);
    }
    std::string outcome() const { return support::text_or(contract(), "outcome", ""); }
};

} // namespace

TEST_CASE("a driver that was never checked is unchecked") {
    const Place place;
    CHECK(support::print_json(place.contract()) == R"({"outcome":"unchecked","breaches":[]})");
}

TEST_CASE("the last check counts") {
    const Place place;
    REQUIRE(keep_check(place.driver, {"done-not-early", "wait-not-spun"}));
    CHECK(support::print_json(place.contract()) ==
          R"({"outcome":"broken","breaches":["done-not-early","wait-not-spun"]})");
    REQUIRE(keep_check(place.driver, {}));
    CHECK(place.outcome() == "kept");
}

TEST_CASE("a driver that was changed since, another variant or release of it is unchecked") {
    Place place;
    REQUIRE(keep_check(place.driver, {"done-not-early"}));
    driver::Descriptor other = place.driver;
    const auto files = campaign::hashes_of_driver(other);
    REQUIRE(files);
    other.choice.version = "2.1.0";
    CHECK(support::text_or(contract_of(other, *files), "outcome", "") == "unchecked");
    other.choice = {};
    other.variant.name = "thread";
    CHECK(support::text_or(contract_of(other, *files), "outcome", "") == "unchecked");
    place.folder.write("driver/mine.so", "another library");
    CHECK(place.outcome() == "unchecked");
    place.folder.write("driver/mine.so", "library");
    CHECK(place.outcome() == "broken");
}

TEST_CASE("a working copy's check is not kept") {
    Place place;
    place.driver.choice.checkout = place.folder.path();
    REQUIRE(keep_check(place.driver, {"done-not-early"}));
    CHECK(place.outcome() == "unchecked");
}

TEST_CASE("a record that is damaged counts as none") {
    const Place place;
    REQUIRE(keep_check(place.driver, {"done-not-early"}));
    for (const auto& entry :
         std::filesystem::directory_iterator(place.folder.path() / "data/mqcore/checks"))
        place.folder.write(entry.path().string(), "{");
    CHECK(place.outcome() == "unchecked");
}

TEST_CASE("a judgement reads the breaches of each client from the manifest") {
    const support::Json manifest = support::JsonObject{
        {"clients",
         support::JsonArray{
             support::JsonObject{
                 {"id", "mine"},
                 {"contract",
                  support::JsonObject{{"outcome", "broken"},
                                      {"breaches", support::JsonArray{"wait-not-spun"}}}}},
             support::JsonObject{{"id", "older"}}}}};
    const verdict::Context context = verdict::context_from_manifest(manifest);
    REQUIRE(context.breaches_of("mine"));
    CHECK(context.breaches_of("mine")->checks == std::vector<std::string>{"wait-not-spun"});
    CHECK_FALSE(context.breaches_of("older"));
}
