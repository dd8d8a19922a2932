#include "machine/profiler.hpp"
#include "support/catch.hpp"

#include <set>

using namespace mqcore::machine;

namespace {

const Hotspot& spot(const Hotspots& hotspots, const std::string& function) {
    for (const Hotspot& each : hotspots.functions)
        if (each.function == function)
            return each;
    throw std::runtime_error("no such function: " + function);
}

} // namespace

TEST_CASE("every row of the table is whole") {
    std::set<std::string> names;
    for (const Profiler& profiler : profilers()) {
        CAPTURE(profiler.name);
        CHECK(names.insert(profiler.name).second);
        CHECK_FALSE(profiler.present.empty());
        CHECK_FALSE(profiler.begin.empty());
        CHECK(std::string_view(profiler.how_to_get).size() > 0);
        CHECK(profiler.permitted.empty() == std::string_view(profiler.how_to_permit).empty());
        bool is_hottest_there = false;
        for (const ProfileFile& file : profiler.files)
            is_hottest_there |= std::string_view(file.name) == profiler.hottest_in;
        CHECK(is_hottest_there);
    }
    CHECK(names == std::set<std::string>{"py-spy", "tachyon", "perf", "callgrind"});
}

TEST_CASE("a tool of another name is refused with the nearest one") {
    CHECK(profiler_named("perf"));
    const auto unknown = profiler_named("calgrind");
    REQUIRE_FALSE(unknown);
    CHECK(unknown.error().hint.find("did you mean 'callgrind'?") == 0);
}

TEST_CASE("folded stacks: a function counts once a stack, whatever its lines") {
    const Hotspots found = hottest_of_folded("main (a.py:1);f (a.py:2);g (b.py:7) 3\n"
                                             "main (a.py:1);f (a.py:3);f (a.py:4) 5\n"
                                             "main (a.py:9) 2\n"
                                             "no count here\n");
    CHECK(found.count == 10);
    REQUIRE(found.functions.size() == 3);
    CHECK(found.functions[0].function == "f (a.py)"); // most of its own first
    CHECK(found.functions[0].self == 0.5);
    CHECK(found.functions[0].total == 0.8);
    CHECK(spot(found, "g (b.py)").self == 0.3);
    CHECK(spot(found, "main (a.py)").self == 0.2);
    CHECK(spot(found, "main (a.py)").total == 1);
    CHECK(hottest_of_folded("").functions.empty());
    CHECK(spot(hottest_of_folded("client.py:publish:12;x.py:send:3 4"), "x.py:send").self == 1);
}

TEST_CASE("what callgrind_annotate prints, of old and of new releases") {
    const Hotspots found = hottest_of_annotated(
        "Profile data file 'callgrind.out' (creator: callgrind-3.19.0)\n"
        "1,000 (100.0%)  PROGRAM TOTALS\n"
        "Ir file:function\n"
        "  400 (40.00%)  ./malloc/malloc.c:malloc [/usr/lib/x86_64-linux-gnu/libc.so.6]\n"
        "  100 (10.00%)  ./malloc/malloc.c:malloc'2 [/usr/lib/x86_64-linux-gnu/libc.so.6]\n"
        "  200 ( 20.0%)  ???:std::vector<int>::push_back(int) [/opt/libx.so]\n"
        "  150           a.c:publish [/opt/libx.so]\n"
        "   50 ( 5.00%)  a.h:publish\n");
    CHECK(found.count == 1000);
    REQUIRE(found.functions.size() == 3);
    CHECK(found.functions[0].function == "malloc (libc.so.6)");
    CHECK(found.functions[0].self == 0.5);
    CHECK(spot(found, "std::vector<int>::push_back(int) (libx.so)").self == 0.2);
    // The tool leaves the object out of some lines of a function.
    CHECK(spot(found, "publish (libx.so)").self == 0.2);
    CHECK(hottest_of_annotated("nothing was collected\n").functions.empty());
}

TEST_CASE("what perf script prints becomes stacks, outermost function first") {
    const std::string folded = fold_perf_script("worker thread  4711\n"
                                                "\t           24eb04 send (/usr/lib/libc.so.6)\n"
                                                "\t             1200 publish (/opt/libx.so)\n"
                                                "\n"
                                                "worker thread  4711\n"
                                                "\t           24eb04 send (/usr/lib/libc.so.6)\n"
                                                "\t             1300 publish (/opt/libx.so)\n"
                                                "\n"
                                                "worker thread  4711\n"
                                                "\t ffffffff81 sys_poll;x ([kernel.kallsyms])\n");
    CHECK(folded == "worker thread;publish (libx.so);send (libc.so.6) 2\n"
                    "worker thread;sys_poll:x ([kernel.kallsyms]) 1\n");
    CHECK(fold_perf_script("").empty());
}
