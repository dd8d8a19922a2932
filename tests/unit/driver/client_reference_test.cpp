#include "driver/client_reference.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <set>

using namespace mqcore;
using driver::ClientReference;

namespace {

std::string parse_error(std::string_view text) {
    const auto parsed = driver::parse_client_reference(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == support::ErrorCode::wrong_input);
    CHECK_FALSE(parsed.error().hint.empty());
    return parsed.error().message;
}

// A hosted driver with a package and a variant, one without a package, and one with its own library.
class Clients {
  public:
    Clients() {
        driver::Host host;
        host.id = "python";
        host.environment = {"true"};
        catalogue.hosts.push_back(host);
        add("paho", "python", "paho-mqtt").variants = {
            {.name = "thread", .summary = "", .options = {{"loop", "thread"}}}};
        add("bare", "python", "");
        add("paho-c", "", "");
    }
    driver::Descriptor named(const std::string& text) const {
        const auto client = driver::client_named(text, catalogue);
        REQUIRE(client);
        return *client;
    }
    std::string error(const std::string& text) const {
        const auto client = driver::client_named(text, catalogue);
        REQUIRE_FALSE(client);
        return support::one_line(client.error());
    }
    std::string folder(const std::string& name) const {
        std::filesystem::create_directories(folder_.path() / name);
        return (folder_.path() / name).string();
    }

    driver::Catalogue catalogue;

  private:
    driver::Descriptor& add(const std::string& id, const std::string& host,
                            const std::string& package) {
        driver::Descriptor driver;
        driver.id = driver.driver_id = id;
        driver.host = host;
        driver.package = package;
        driver.folder = folder("drivers/" + id);
        catalogue.drivers.push_back(driver);
        return catalogue.drivers.back();
    }

    tests::TemporaryFolder folder_;
};

} // namespace

TEST_CASE("a client is a driver, a variant and a release of its library") {
    const std::pair<std::string_view, ClientReference> readings[] = {
        {"paho", {.driver = "paho"}},
        {"paho:thread", {.driver = "paho", .variant = "thread"}},
        {"paho@2.1.0", {.driver = "paho", .version = "2.1.0"}},
        {"paho:thread@2.1.0rc1", {.driver = "paho", .variant = "thread", .version = "2.1.0rc1"}},
        {"paho@../copy", {.driver = "paho", .checkout = "../copy"}},
        {"paho@.", {.driver = "paho", .checkout = "."}},
        {"paho@.=mine", {.driver = "paho", .checkout = ".", .name = "mine"}},
        {"paho:thread@/a=b@c/d=mine",
         {.driver = "paho", .variant = "thread", .checkout = "/a=b@c/d", .name = "mine"}},
        {"paho@/a=b/", {.driver = "paho", .checkout = "/a=b/"}},
        {"./x:y/paho:thread", {.driver = "./x:y/paho", .variant = "thread"}},
        {"a/b.so", {.driver = "a/b.so"}},
    };
    for (const auto& [text, expected] : readings) {
        INFO(text);
        const auto parsed = driver::parse_client_reference(text);
        REQUIRE(parsed);
        CHECK(*parsed == expected);
    }
}

TEST_CASE("a name that is none says how clients are named") {
    CHECK(parse_error("") == "'' names no client");
    CHECK(parse_error(":thread") == "':thread' names no client");
    CHECK(parse_error("paho:") == "'paho:' names no client");
    CHECK(parse_error("paho:@2") == "'paho:@2' names no client");
    CHECK(parse_error("@2.0") == "'@2.0' names no client");
    CHECK(parse_error("paho@") == "'' in 'paho@' is no version");
    CHECK(parse_error("paho@2.0=old") == "'2.0=old' in 'paho@2.0=old' is no version");
    CHECK(parse_error("paho@>=2") == "'>=2' in 'paho@>=2' is no version");
    CHECK(parse_error("paho@./x=a b") == "'a b' in 'paho@./x=a b' is no name");
}

TEST_CASE("a variant and a version are clients of their own") {
    const Clients clients;
    const auto thread = clients.named("paho:thread@2.1.0");
    CHECK(thread.id == "paho:thread@2.1.0");
    CHECK(thread.driver_id == "paho");
    CHECK(thread.variant.options == driver::Options{{"loop", "thread"}});
    CHECK(thread.choice.version == "2.1.0");
    CHECK(clients.named("paho").choice.is_locked());
    CHECK(clients.named("paho-c").id == "paho-c");
}

TEST_CASE("a checkout is shown by its name and never by its place") {
    const Clients clients;
    const std::string copy = clients.folder("src/paho.mqtt.python");
    const auto client = clients.named("paho@" + copy);
    CHECK(client.id == "paho@paho.mqtt.python");
    CHECK(client.choice.checkout == std::filesystem::canonical(copy));
    CHECK(clients.named("paho@" + copy + "/=mine").id == "paho@mine");
    CHECK(clients.named("paho@" + copy + "/").id == "paho@paho.mqtt.python");
    CHECK(clients.error("paho@" + clients.folder("a b")).find("cannot stand in results") !=
          std::string::npos);
    CHECK(clients.error("paho@/no/such") == "there is no folder '/no/such' (a working copy is the "
                                            "folder of a library's source)");
}

TEST_CASE("what cannot be chosen is refused in one line") {
    const Clients clients;
    CHECK(clients.error("paho:thraed") ==
          "'paho' has no variant 'thraed' (did you mean 'paho:thread'?)");
    CHECK(clients.error("paho:x") == "'paho' has no variant 'x' (it has: thread)");
    CHECK(clients.error("bare:x") == "'bare' has no variant 'x' (its driver.toml declares none)");
    CHECK(clients.error("bare@1.0") ==
          "the library of 'bare' cannot be chosen with '@' (its driver.toml names no 'package')");
    CHECK(clients.error("paho-c@1.3") ==
          "the library of 'paho-c' cannot be chosen with '@' (it comes with the driver, not from a "
          "language environment)");
    CHECK(clients.error("phao@1.0").find("there is no driver 'phao'") == 0);
}

TEST_CASE("the same client twice is one, two of one id are an error") {
    const Clients clients;
    const std::string one = clients.folder("one/copy"), two = clients.folder("two/copy");
    std::vector<driver::Descriptor> chosen;
    for (const std::string& name : {std::string("paho"), std::string("paho"), "paho@" + one,
                                    "paho@" + one + "/", std::string("paho:thread")})
        REQUIRE(driver::add_client(clients.named(name), chosen));
    CHECK(chosen.size() == 3);
    const auto refused = driver::add_client(clients.named("paho@" + two), chosen);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "two clients would be called 'paho@copy' in the results");
    CHECK(refused.error().hint == "name one of them: paho@" + two + "=NAME");
    CHECK(driver::add_client(clients.named("paho@" + two + "=other"), chosen));

    driver::Descriptor elsewhere = clients.named("paho");
    elsewhere.folder = one;
    CHECK(driver::add_client(elsewhere, chosen)
              .error()
              .message.find("two drivers are called 'paho'") == 0);
}

TEST_CASE("each client has a file of its own") {
    std::set<std::string> names;
    for (const char* id : {"paho", "paho-thread", "paho:thread", "paho@2.1.0", "paho:thread@2.1.0",
                           "paho@paho_thread", "paho@a_b", "paho@a-b"}) {
        const std::string name = driver::file_name_of_client(id);
        CHECK(name.find_first_of(":/") == std::string::npos);
        names.insert(name);
    }
    CHECK(names.size() == 8);
    CHECK(driver::file_name_of_client("paho:thread@2.1.0") == "paho_thread@2.1.0");
}
