#include "report/site.hpp"

#include "campaign/store.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>
#include <iterator>

namespace {

using namespace mqcore;
using namespace mqcore::tests;
namespace fs = std::filesystem;

// A page, and a folder `results` with one campaign, `one`.
struct Stage {
    TemporaryFolder folder;
    Stage() {
        folder.write("page/index.html", "the page");
        add("one");
    }
    fs::path path(const char* name) const { return folder.path() / name; }
    void add(const char* name) const {
        const CampaignDocuments campaign = campaign_documents();
        auto store = campaign::ResultStore::create(path("results") / name, {}, {});
        REQUIRE(store);
        REQUIRE(store->write_manifest(campaign.manifest));
        for (const Json& run : campaign.runs)
            REQUIRE(store->add_run(run.at("client_name").as_string().c_str(), run));
    }
    support::Result<report::WrittenSite> write(const char* results = "results") const {
        return report::write_site(
            {.results = path(results), .output = path("site"), .page = path("page")});
    }
    std::string content(const char* name) const {
        std::ifstream file(path("site") / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::vector<std::string> entries() const {
        std::vector<std::string> names;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
            names.push_back(entry.path().filename().string());
        std::ranges::sort(names);
        return names;
    }
};

bool says(const support::Result<report::WrittenSite>& refused, std::string_view what) {
    return !refused && support::one_line(refused.error()).find(what) != std::string::npos;
}

} // namespace

TEST_CASE("a site holds the page, its data as scripts and the raw files") {
    const Stage stage;
    const auto written = stage.write();
    REQUIRE(written);
    CHECK(written->campaigns == std::vector<std::string>{"one"});
    CHECK(stage.content("index.html") == "the page");
    CHECK(stage.content("data.js").starts_with(R"(mqcoreIndex("mqcore-report/1",{"campaigns":[)"));
    const std::string data = stage.content("data/one.js");
    CHECK(data.starts_with(R"(mqcoreCampaign("one",{)"));
    CHECK(data.find(R"("files":[{"name":"manifest.json")") != std::string::npos);
    for (const char* file : {"manifest.json", "gmqtt.json", "paho.json", "paho-c.json"})
        CHECK(fs::file_size(stage.path("site") / "raw/one" / file) ==
              fs::file_size(stage.path("results") / "one" / file));
}

TEST_CASE("one campaign and a folder of campaigns are both taken") {
    const Stage stage;
    stage.add("two");
    stage.folder.write("results/README.md", "no campaign");
    stage.folder.write("results/notes/x.txt", "no campaign");
    REQUIRE(stage.write("results/two"));
    CHECK_FALSE(fs::exists(stage.path("site") / "data/one.js"));
    const auto both = stage.write();
    REQUIRE(both);
    CHECK(both->campaigns == std::vector<std::string>{"one", "two"});
    CHECK(fs::exists(stage.path("site") / "data/one.js"));
}

TEST_CASE("only a folder of its own is replaced, as a whole") {
    const Stage stage;
    REQUIRE(stage.write());
    stage.folder.write("site/old.html", "of an earlier version");
    REQUIRE(stage.write());
    CHECK_FALSE(fs::exists(stage.path("site") / "old.html"));
    CHECK(stage.entries() == std::vector<std::string>{"page", "results", "site"});
}

TEST_CASE("a foreign folder, a foreign marker and a file are refused and stay as they are") {
    const Stage stage;
    const auto refused = [&] {
        CHECK(says(stage.write(), "was not made by `mqcore report`"));
        CHECK(stage.entries() == std::vector<std::string>{"page", "results", "site"});
    };
    const fs::path precious = stage.folder.write("site/precious", "old");
    refused();
    stage.folder.write("site/.mqcore-site", "something else");
    refused();
    CHECK(fs::exists(precious));
    fs::remove_all(stage.path("site"));
    stage.folder.write("site", "a file");
    refused();
}

TEST_CASE("an empty folder is taken") {
    const Stage stage;
    fs::create_directories(stage.path("site"));
    REQUIRE(stage.write());
    CHECK(stage.content("index.html") == "the page");
}

TEST_CASE("a campaign that cannot be read is left out beside others, and refused alone") {
    const Stage stage;
    stage.folder.write("results/broken/manifest.json", R"({"format": "mqcore-results/9"})");
    const auto written = stage.write();
    REQUIRE(written);
    CHECK(written->campaigns == std::vector<std::string>{"one"});
    REQUIRE(written->left_out.size() == 1);
    CHECK(written->left_out[0].find("mqcore-results/9") != std::string::npos);
    CHECK(stage.content("data.js").find(R"("left_out":["broken"])") != std::string::npos);
    CHECK(says(stage.write("results/broken"), "mqcore-results/9"));
    CHECK(stage.content("index.html") == "the page"); // the earlier site is still there
}

TEST_CASE("half a manifest is refused with what it lacks") {
    const Stage stage;
    Json manifest = campaign_documents().manifest;
    manifest.as_object().erase("points");
    stage.folder.write("results/half/manifest.json", support::print_json(manifest));
    CHECK(
        says(stage.write("results/half"), "is not a whole campaign: its manifest has no 'points'"));
    REQUIRE(stage.write());
    CHECK(stage.content("data.js").find(R"("left_out":["half"])") != std::string::npos);
}

TEST_CASE("a campaign that was taken back says so in its data and its line of the index") {
    const Stage stage;
    REQUIRE(campaign::mark_standing(stage.path("results") / "one", "retracted", "a shared core"));
    REQUIRE(stage.write());
    for (const char* file : {"data.js", "data/one.js"})
        CHECK(stage.content(file).find(R"("standing":"retracted","reason":"a shared core")") !=
              std::string::npos);
    CHECK(fs::exists(stage.path("site") / "raw/one/standing.json"));
}

TEST_CASE("no campaign, no folder and no page are one clear line each") {
    const Stage stage;
    CHECK(says(stage.write("page"), "holds no campaign"));
    CHECK(says(stage.write("nowhere"), "there is no folder"));
    fs::remove(stage.path("page") / "index.html");
    CHECK(says(stage.write(), "without the report page"));
    CHECK(stage.entries() == std::vector<std::string>{"page", "results"});
}
