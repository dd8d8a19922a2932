#include "scenario/topic.hpp"
#include "support/catch.hpp"

using namespace mqcore::scenario;

namespace {

constexpr std::size_t kPrefix = 64;

bool is_refused(std::string_view topic) {
    const auto fault = fault_of_topic(topic, kPrefix);
    return fault && fault->is_fatal;
}

} // namespace

TEST_CASE("topics that MQTT allows pass, however unusual") {
    CHECK_FALSE(fault_of_topic("data", kPrefix));
    CHECK_FALSE(fault_of_topic("/", kPrefix));
    CHECK_FALSE(fault_of_topic("plant/line 4//x", kPrefix));
    CHECK_FALSE(fault_of_topic("$SYS/like", kPrefix));
    CHECK_FALSE(fault_of_topic("\xF0\x9F\x98\x80/\xF0\x90\x80\x80", kPrefix)); // four bytes each
    CHECK_FALSE(fault_of_topic("\xEF\xBB\xBFstart", kPrefix));                 // U+FEFF
    CHECK_FALSE(fault_of_topic("\xEF\xBF\xBD", kPrefix));                      // U+FFFD
    CHECK_FALSE(fault_of_topic("\xF4\x8F\xBF\xBD", kPrefix));                  // U+10FFFD
}

TEST_CASE("a topic has at most 65,535 bytes with the run's prefix") {
    CHECK_FALSE(fault_of_topic(std::string(65535, 'x'), 0));
    CHECK(fault_of_topic(std::string(65536, 'x'), 0));
    CHECK_FALSE(fault_of_topic(std::string(65535 - kPrefix, 'x'), kPrefix));
    const auto fault = fault_of_topic(std::string(65535 - kPrefix + 1, 'x'), kPrefix);
    REQUIRE(fault);
    CHECK(fault->what == "has 65,472 bytes");
    CHECK(fault->hint == "with the run's prefix of up to 64 bytes it may have 65,471");
    CHECK_FALSE(fault->at);
}

TEST_CASE("what MQTT forbids in a publish topic is refused at its byte") {
    CHECK(is_refused(""));
    CHECK(fault_of_topic(std::string_view("a\0b", 3), kPrefix)->at == 1);
    CHECK(fault_of_topic("a/+/b", kPrefix)->at == 2);
    CHECK(fault_of_topic("a/#", kPrefix)->at == 2);
    CHECK(fault_of_topic("ab\xC0\xAF", kPrefix)->at == 2); // overlong '/'
    CHECK(is_refused("\xED\xA0\x80"));                     // U+D800
    CHECK(is_refused("\xED\xA0\xBD\xED\xB8\x80"));         // a surrogate pair as two code points
    CHECK(is_refused("\xF4\x90\x80\x80"));                 // above U+10FFFF
    CHECK(is_refused("\xE2\x82"));                         // cut short
}

TEST_CASE("characters for which a broker may close the connection are doubtful, not refused") {
    for (const std::string_view topic :
         {"\x01", "a\tb", "a\x7F", "\xC2\x80", "\xC2\x9F", "\xEF\xB7\x90", "\xEF\xBF\xBE",
          "\xEF\xBF\xBF", "\xF0\x9F\xBF\xBE", "\xF4\x8F\xBF\xBF"}) {
        const auto fault = fault_of_topic(topic, kPrefix);
        REQUIRE(fault);
        CHECK_FALSE(fault->is_fatal);
    }
    CHECK(fault_of_topic("a\xC2\x9F", kPrefix)->what.starts_with("holds U+009F"));
}

TEST_CASE("what is refused is named before what is doubtful") {
    CHECK(fault_of_topic("\x01/#", kPrefix)->at == 2);
}
