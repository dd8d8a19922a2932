// Two drivers that export symbols of the same names, or bring two versions of one library, do not meet; and
// a driver finds little of the worker in its process.

#include "conformance/bench.hpp"
#include "driver/loaded_driver.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

#include <map>
#include <set>
#include <sstream>

namespace {

using namespace mqcore;
using Notes = std::map<std::string, std::string>;

std::filesystem::path file_of(const std::string& id) {
    return std::filesystem::path(NAMESAKES) / id / (id + ".so");
}

// What a driver of that version says when nobody else's symbols got in its way.
void check_own(const Notes& notes, int version) {
    CHECK(notes.at("own function") == std::to_string(version));
    CHECK(notes.at("own data") == std::to_string(version + 10));
    CHECK(notes.at("linked function") == std::to_string(100 * version));
    CHECK(notes.at("library") == std::to_string(version));
    CHECK(notes.at("library's data") == std::to_string(version + 1));
}

struct TestHost : mqcore_host {
    Notes notes;

    TestHost()
        : mqcore_host{
              .size = sizeof(mqcore_host),
              .abi_major = MQCORE_ABI_MAJOR,
              .abi_minor = MQCORE_ABI_MINOR,
              .version = "test",
              .environment = nullptr,
              .extension = [](const mqcore_host*, const char*) -> const void* { return nullptr; },
              .log = [](const mqcore_host*, std::int32_t, const char*) {},
              .fail = [](const mqcore_host*, std::int32_t, const char*) {},
              .note =
                  [](const mqcore_host* host, const char* key, const char* value) {
                      auto* self = static_cast<const TestHost*>(host);
                      const_cast<TestHost*>(self)->notes[key] = value;
                  }} {}
};

Notes notes_in_this_process(const std::string& id) {
    const auto loaded = driver::load_driver(file_of(id), file_of(id).parent_path());
    if (!loaded)
        FAIL(support::one_line(loaded.error()));
    TestHost host;
    void* self = nullptr;
    CHECK(loaded->table->create(&host, &self) == MQCORE_UNSUPPORTED);
    return host.notes;
}

Notes notes_in_a_worker(const std::string& id) {
    const std::filesystem::path build = mqcore::tests::build_folder();
    conformance::Subject subject{.name = id};
    subject.descriptor.library_file = file_of(id);
    subject.descriptor.folder = file_of(id).parent_path();
    auto bench = conformance::Bench::make(
        subject, {.worker_program = build / "bin/mqworker", .peer_program = build / "bin/mqpeer"});
    REQUIRE(bench);
    conformance::Trial trial(**bench);
    const conformance::Step step =
        trial.prepare((*bench)->specification(measure::Protocol::v311, 0));
    REQUIRE(step.trouble);
    CHECK(step.trouble->text == "it has said what it found");
    const support::Json* told = support::find(step.trouble->said, "notes");
    REQUIRE(told);
    Notes notes;
    for (const auto& [key, value] : told->get_object())
        notes[std::string(key)] = std::string(value.get_string());
    return notes;
}

} // namespace

TEST_CASE("symbols of the same name in two drivers of one process do not meet") {
    // Each brings its version under a file name of its own: libshared.so.1 and libshared.so.2.
    check_own(notes_in_this_process("namesake-1"), 1);
    check_own(notes_in_this_process("namesake-2"), 2);
}

TEST_CASE(
    "two versions of a library under one file name do not meet, as each driver has a worker") {
    check_own(notes_in_a_worker("same-name-1"), 1);
    check_own(notes_in_a_worker("same-name-2"), 2);
}

// What stands in the worker's scope comes before a driver's own: a driver that brings its version of a
// library that the worker has loaded would call the worker's. So the worker loads none but those of the C and
// C++ runtime, and libfmt, whose symbols carry its version.
TEST_CASE("a worker brings a driver no library that the driver could bring itself") {
    const std::set<std::string> runtime{
        "libc.so",  "libm.so",       "libstdc++.so", "libgcc_s.so",    "libdl.so",
        "librt.so", "libpthread.so", "libfmt.so",    "same-name-1.so", "libshared.so"};
    std::istringstream objects(notes_in_a_worker("same-name-1").at("objects in the process"));
    std::size_t count = 0;
    for (std::string object; objects >> object; ++count) {
        CAPTURE(object);
        const std::string plain = object.substr(0, object.find(".so") + 3);
        CHECK((runtime.contains(plain) || object.starts_with("ld-linux") ||
               object.starts_with("linux-vdso")));
    }
    CHECK(count >= 5);
}
