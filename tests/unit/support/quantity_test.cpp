#include "support/catch.hpp"
#include "support/quantity.hpp"

using namespace mqcore::support;

TEST_CASE("sizes are read as people write them") {
    CHECK(*parse_bytes("0B") == 0);
    CHECK(*parse_bytes("256B") == 256);
    CHECK(*parse_bytes("256 B") == 256);
    CHECK(*parse_bytes("64kB") == 64'000);
    CHECK(*parse_bytes("16KiB") == 16'384);
    CHECK(*parse_bytes("1MiB") == 1'048'576);
    CHECK(*parse_bytes("1.5KiB") == 1536);
    CHECK(*parse_bytes("2MB") == 2'000'000);
    CHECK(*parse_bytes("1GiB") == 1'073'741'824);
}

TEST_CASE("rates and times are read as people write them") {
    CHECK(*parse_rate("2000/s") == 2000);
    CHECK(*parse_rate("0.5 /s") == 0.5);
    CHECK(*parse_rate("30/min") == Approx(0.5));
    CHECK(*parse_seconds("2s") == 2);
    CHECK(*parse_seconds("500ms") == Approx(0.5));
    CHECK(*parse_seconds("250us") == Approx(250e-6));
    CHECK(*parse_seconds("250\xC2\xB5s") == Approx(250e-6));
    CHECK(*parse_seconds("1.5min") == 90);
    CHECK(*parse_seconds("1h") == 3600);
    CHECK(*parse_percent("2%") == Approx(0.02));
    CHECK(*parse_percent("0.5 %") == Approx(0.005));
}

TEST_CASE("what only looks like a quantity is refused") {
    for (const char* text :
         {"", "B", "256", "256b", "16K", "16 kib", "-1B", "+1B", "1e3B", "0x10B", "1..5B", "1.2.3B",
          "16  KiB", "16KiB ", " 16KiB", "1,000B", "0.3B", "nan B", "99999999999999999999999GiB"})
        CHECK_FALSE(parse_bytes(text));
    for (const char* text : {"2000", "2000/", "2000/S", "2k/s", "2000 msgs/s", "/s", "1/0/s"})
        CHECK_FALSE(parse_rate(text));
    for (const char* text : {"2", "2 sec", "2S", "s", "2m"})
        CHECK_FALSE(parse_seconds(text));
    for (const char* text : {"2", "0.02", "2 percent", "%", "-2%"})
        CHECK_FALSE(parse_percent(text));
}

TEST_CASE("the hint is what was most likely meant") {
    CHECK(parse_bytes("16k").error().hint ==
          "did you mean \"16kB\" or \"16KiB\"?  (units: B, kB, KiB, MB, MiB, GB, GiB)");
    CHECK(parse_bytes("256").error().hint ==
          "did you mean \"256B\"?  (units: B, kB, KiB, MB, MiB, GB, GiB)");
    CHECK(parse_rate("2,000 msgs/s").error().hint == "did you mean \"2000/s\"?  (units: /s, /min)");
    CHECK(parse_bytes("big").error().hint ==
          "write it like \"256B\" or \"16KiB\"  (units: B, kB, KiB, MB, MiB, GB, GiB)");
}

TEST_CASE("a quantity is printed in its shortest exact form and reads back") {
    for (const std::uint64_t bytes : {0ull, 1ull, 256ull, 1000ull, 1024ull, 16384ull, 1'000'000ull,
                                      1'048'576ull, 268'435'455ull})
        CHECK(*parse_bytes(print_bytes(bytes)) == bytes);
    CHECK(print_bytes(16384) == "16KiB");
    CHECK(print_bytes(64000) == "64kB");
    CHECK(print_rate(2000) == "2000/s");
    CHECK(print_rate(0.5) == "0.5/s");
}
