#include "campaign/store.hpp"
#include "support/catch.hpp"
#include "support/file.hpp"

#include <chrono>
#include <csignal>
#include <fstream>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mqcore;
using namespace mqcore::campaign;
namespace fs = std::filesystem;

namespace {

struct Folder {
    fs::path path = fs::temp_directory_path() / ("mqcore-store-test-" + std::to_string(::getpid()));
    Folder() {
        fs::remove_all(path);
        fs::create_directories(path);
    }
    ~Folder() { fs::remove_all(path); }
};

support::Json run(const char* point, const char* client = "a") {
    return support::JsonObject{{"client_name", client}, {"point", point}};
}

support::Json numbered_run(std::size_t number) {
    return support::JsonObject{{"client_name", "a"},
                               {"point", "p"},
                               {"run", number},
                               {"filling", std::string(2'000, 'x')}};
}

// Goes on with the campaign in `folder` until somebody ends this process, or it has `most` runs.
[[noreturn]] void write_runs(const fs::path& folder, std::size_t most) {
    auto store = ResultStore::reopen(folder);
    support::Json manifest = store ? store->first_manifest() : support::Json();
    while (store && store->runs().size() < most) {
        manifest.as_object()["count"] = store->runs().size() + 1;
        if (!store->add_run("a", numbered_run(store->runs().size() + 1)) ||
            !store->write_manifest(manifest))
            break;
    }
    ::_exit(store && store->runs().size() == most ? 0 : 1);
}

} // namespace

TEST_CASE("runs are read back by client in the manifest's order") {
    Folder folder;
    auto store = ResultStore::create(folder.path / "out", {}, {});
    REQUIRE(store);
    REQUIRE(store->write_manifest(
        support::JsonObject{{"format", kResultsFormat},
                            {"clients", support::JsonArray{support::JsonObject{{"id", "b"}},
                                                           support::JsonObject{{"id", "a"}}}}}));
    REQUIRE(store->add_run("a", run("one")));
    REQUIRE(store->add_run("b", run("one", "b")));
    REQUIRE(store->add_run("a", run("two")));
    const auto campaign = read_campaign(folder.path / "out");
    REQUIRE(campaign);
    REQUIRE(campaign->runs.size() == 3);
    REQUIRE(campaign->runs[0] == run("one", "b"));
    REQUIRE(campaign->runs[2] == run("two"));
}

TEST_CASE("a client whose id no file can have is read back under its id") {
    Folder folder;
    auto store = ResultStore::create(folder.path / "out", {}, {});
    REQUIRE(store);
    REQUIRE(store->write_manifest(support::JsonObject{
        {"format", kResultsFormat},
        {"clients", support::JsonArray{support::JsonObject{{"id", "paho:thread@2.1.0"}}}}}));
    REQUIRE(store->add_run("paho:thread@2.1.0", run("one", "paho:thread@2.1.0")));
    REQUIRE(fs::exists(folder.path / "out" / "paho_thread@2.1.0.json"));
    const auto campaign = read_campaign(folder.path / "out");
    REQUIRE(campaign);
    REQUIRE(campaign->runs.size() == 1);
}

TEST_CASE("a folder with something in it is refused and stays as it was") {
    Folder folder;
    std::ofstream(folder.path / "precious") << "old";
    REQUIRE_FALSE(ResultStore::create(folder.path, {}, {}));
    REQUIRE(fs::exists(folder.path / "precious"));
    REQUIRE_FALSE(fs::exists(folder.path / "logs"));
}

TEST_CASE("two campaigns of the same name get two folders") {
    Folder folder;
    const auto one = ResultStore::create({}, folder.path, "x");
    const auto two = ResultStore::create({}, folder.path, "x");
    REQUIRE(one);
    REQUIRE(two);
    REQUIRE(one->folder() != two->folder());
}

TEST_CASE("runs are visited cell by cell, the points in the file's order") {
    Folder folder;
    const support::Json manifest =
        support::JsonObject{{"format", kResultsFormat},
                            {"clients", support::JsonArray{support::JsonObject{{"id", "a"}},
                                                           support::JsonObject{{"id", "b"}}}}};
    auto store = ResultStore::create(folder.path / "out", {}, {});
    REQUIRE(store);
    REQUIRE(store->write_manifest(manifest));
    for (const char* point : {"one", "two", "one"})
        REQUIRE(store->add_run("a", run(point)));
    std::vector<std::vector<support::Json>> cells;
    REQUIRE(visit_cells(folder.path / "out", manifest, [&](std::span<const support::Json> runs) {
        cells.emplace_back();
        for (const support::Json& each : runs) // out of the visit's own memory
            cells.back().emplace_back(each, boost::json::storage_ptr());
    }));
    REQUIRE(cells.size() == 2);
    CHECK(cells[0] == std::vector{run("one"), run("one")});
    CHECK(cells[1] == std::vector{run("two")});
}

TEST_CASE("a broken run is named with its line in the file") {
    Folder folder;
    const auto write = [&](const char* name, const char* text) {
        REQUIRE(support::write_file_atomically(folder.path / name, text));
    };
    write("manifest.json", R"({"format": "mqcore-results/1", "clients": [{"id": "a"}]})");
    write("a.json",
          "{\"format\": \"mqcore-results/1\", \"runs\": [\n{\"client_name\": \"a\", \"point\": "
          "\"one\"},\n{\"point\": nul}\n]}");
    CHECK(read_campaign(folder.path).error().message.find("a.json:3:") != std::string::npos);
    write("a.json", "{\"runs\": [");
    CHECK(read_campaign(folder.path).error().message.find("not a JSON document") !=
          std::string::npos);
    write("a.json", R"({"format": "mqcore-results/1", "client": "a"})");
    CHECK(read_campaign(folder.path).error().message.find("holds no runs") != std::string::npos);
}

TEST_CASE("a client's file of another format and runs of somebody else are one clear line each") {
    Folder folder;
    const auto refusal_of = [&](const std::string& text) {
        REQUIRE(support::write_file_atomically(folder.path / "a.json", text));
        const auto refused = read_campaign(folder.path);
        REQUIRE_FALSE(refused);
        return refused.error().message;
    };
    REQUIRE(support::write_file_atomically(
        folder.path / "manifest.json",
        R"({"format": "mqcore-results/1", "clients": [{"id": "a"}]})"));
    const std::string name = (folder.path / "a.json").string();
    CHECK(refusal_of(R"({"format": "mqcore-results/9", "runs": []})") ==
          "'" + name + "' has the format 'mqcore-results/9', this mqcore reads 'mqcore-results/1'");
    CHECK(refusal_of(R"({"runs": []})").find("has the format ''") != std::string::npos);
    const std::string wrong = "'" + name + "' holds a run that is not of 'a' on a point: ";
    for (const char* one : {R"({"client_name":"b","point":"one"})", R"({"client_name":"a"})",
                            R"({"client_name":"a","point":7})", "{}", "1", "null", "[]"})
        CHECK(refusal_of(R"({"format": "mqcore-results/1", "runs": [)" + std::string(one) + "]}") ==
              wrong + one);
}

TEST_CASE("a client whose id leads out of the folder is refused") {
    Folder folder;
    for (const char* id : {"../secret", "/etc/x", "", ".hidden"}) {
        REQUIRE(support::write_file_atomically(
            folder.path / "manifest.json",
            support::print_json(support::JsonObject{
                {"format", kResultsFormat},
                {"clients", support::JsonArray{support::JsonObject{{"id", id}}}}})));
        CHECK(read_manifest(folder.path).error().message.find("cannot be a file's name") !=
              std::string::npos);
    }
}

TEST_CASE("a foreign folder, another format and half a document are one clear line each") {
    Folder folder;
    REQUIRE(read_campaign(folder.path).error().message.find("is no results folder") !=
            std::string::npos);
    const auto write = [&](const char* text) {
        REQUIRE(support::write_file_atomically(folder.path / "manifest.json", text));
    };
    write(R"({"format": "mqcore-results/9"})");
    REQUIRE(read_campaign(folder.path).error().message.find("mqcore-results/9") !=
            std::string::npos);
    write(R"({"format": "mqcore-re)");
    REQUIRE(read_campaign(folder.path).error().message.find("not a JSON document") !=
            std::string::npos);
}

TEST_CASE("a reopened folder keeps what is in it, byte for byte, and takes further runs") {
    Folder folder;
    const fs::path out = folder.path / "out";
    {
        auto store = ResultStore::create(out, {}, {});
        REQUIRE(store);
        REQUIRE(store->write_scenario("s.toml", "[suite]\n"));
        REQUIRE(store->write_manifest(support::JsonObject{
            {"format", kResultsFormat},
            {"clients", support::JsonArray{support::JsonObject{{"id", "a"}}}}}));
        support::Json first = run("one");
        first.as_object()["value"] = 0.1 + 0.2;
        REQUIRE(store->add_run("a", first));
        const auto other = ResultStore::reopen(out);
        REQUIRE_FALSE(other); // one at a time
        REQUIRE(other.error().message.find("another mqcore") != std::string::npos);
    }
    std::ofstream(out / "a.json.part") << "half";
    const std::string before = *support::read_file(out / "a.json");
    auto store = ResultStore::reopen(out);
    REQUIRE(store);
    REQUIRE_FALSE(fs::exists(out / "a.json.part"));
    REQUIRE(store->runs().size() == 1);
    REQUIRE(store->scenario_file("s.toml") == out / "scenarios" / "s.toml");
    REQUIRE(support::text_or(store->first_manifest(), "format", "") == kResultsFormat);
    REQUIRE(store->add_run("a", run("two")));
    const std::string end = "\n  ]\n}\n";
    REQUIRE(before.ends_with(end));
    REQUIRE(support::read_file(out / "a.json")
                ->starts_with(before.substr(0, before.size() - end.size()) + ",\n"));
}

TEST_CASE("killed a hundred times in the midst of writing, it has lost nothing that was written") {
    constexpr std::size_t kKills = 100, kEnough = 100'000;
    Folder folder;
    const fs::path out = folder.path / "out";
    {
        auto store = ResultStore::create(out, {}, {});
        REQUIRE(store);
        REQUIRE(store->write_manifest(support::JsonObject{
            {"format", kResultsFormat},
            {"count", 0},
            {"clients", support::JsonArray{support::JsonObject{{"id", "a"}}}}}));
    }
    std::random_device random;
    const auto seed = random();
    CAPTURE(seed);
    std::mt19937 moments(seed);
    std::size_t runs = 0, killed = 0, halves = 0;
    for (bool is_done = false; !is_done;) {
        const pid_t writer = ::fork();
        if (writer == 0)
            write_runs(out, killed < kKills ? kEnough : runs + 1);
        if (killed < kKills) {
            std::this_thread::sleep_for(
                std::chrono::microseconds(std::uniform_int_distribution<>(500, 12'000)(moments)));
            ::kill(writer, SIGKILL);
        }
        int status = 0;
        REQUIRE(::waitpid(writer, &status, 0) == writer);
        is_done = WIFEXITED(status);
        CAPTURE(killed, status);
        REQUIRE((is_done ? WEXITSTATUS(status) == 0 && killed == kKills : ++killed <= kKills));
        for (const auto& entry : fs::directory_iterator(out))
            halves += entry.path().extension() == ".part";

        const auto stored = read_campaign(out);
        REQUIRE(stored);
        REQUIRE(stored->runs.size() >= runs);
        runs = stored->runs.size();
        for (std::size_t i = 0; i < runs; ++i)
            REQUIRE(stored->runs[i] == numbered_run(i + 1));
        // The manifest is written after the run that it counts.
        REQUIRE(support::unsigned_or(stored->manifest, "count", runs + 1) <= runs);
    }
    CHECK(runs > 1);
    CHECK(halves > 0); // it was in the midst
}

TEST_CASE("a campaign that ended before its first run has nothing to go on with") {
    Folder folder;
    REQUIRE(ResultStore::create(folder.path / "out", {}, {}));
    const auto store = ResultStore::reopen(folder.path / "out");
    REQUIRE(store.error().message.find("ended before its first run") != std::string::npos);
}

TEST_CASE("a file that the manifest has the hash of is named when it is gone or another one") {
    Folder folder;
    const fs::path out = folder.path / "out";
    auto store = ResultStore::create(out, {}, {});
    REQUIRE(store);
    REQUIRE(store->write_scenario("core.toml", "as it was"));
    fs::create_directory(out / kProfileFolder);
    REQUIRE(support::write_file_atomically(out / kProfileFolder / "stacks.folded", "a;b 1\n"));
    const auto entry = [&](const fs::path& file) {
        return support::JsonObject{{"file", file.filename().string()},
                                   {"sha256", *support::sha256_of_file(file)}};
    };
    REQUIRE(store->write_manifest(support::JsonObject{
        {"format", kResultsFormat},
        {"clients", support::JsonArray{}},
        {"sessions", support::JsonArray{}},
        {"scenarios", support::JsonArray{entry(out / "scenarios" / "core.toml")}},
        {"profiler", support::JsonObject{{"files", support::JsonArray{entry(out / kProfileFolder /
                                                                            "stacks.folded")}}}}}));
    REQUIRE(read_campaign(out)->changed_files.empty());
    REQUIRE(support::write_file_atomically(out / "scenarios" / "core.toml", "as it is"));
    fs::remove(out / kProfileFolder / "stacks.folded");
    REQUIRE(read_campaign(out)->changed_files ==
            std::vector<std::string>{"scenarios/core.toml", "profile/stacks.folded"});
}
