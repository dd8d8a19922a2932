#include "campaign/compare.hpp"
#include "support/campaign_documents.hpp"
#include "support/catch.hpp"

namespace {

using namespace mqcore;
using namespace mqcore::campaign;
using namespace mqcore::tests;

StoredCampaign stored() {
    CampaignDocuments documents = control_campaign();
    StoredCampaign campaign;
    campaign.manifest = std::move(documents.manifest);
    campaign.runs = std::move(documents.runs);
    return campaign;
}

// Another campaign, in which a client is this much faster at capacity.
StoredCampaign changed(const char* client, double factor) {
    StoredCampaign campaign = stored();
    at(campaign.manifest, "id") = "later";
    for (Json& run : campaign.runs)
        if (at(run, "client_name") == client && at(run, "point") == "pub_qos0_max") {
            Json& window = at(run, "peer.report.receive.window");
            window = static_cast<std::uint64_t>(window.to_number<double>() * factor);
            verdict::judge_into(run, verdict::context_from_manifest(campaign.manifest));
        }
    return campaign;
}

const ComparedPair& row(const CampaignComparison& comparison, const char* point, const char* client,
                        const char* metric) {
    for (const ComparedPair& pair : comparison.pairs)
        if (pair.point == point && pair.second == client && pair.comparison.metric == metric)
            return pair;
    throw std::runtime_error("no such row");
}

std::string word(const ComparedPair& pair) {
    return std::string(verdict::word_of(pair.comparison));
}

} // namespace

TEST_CASE("clients of a campaign are compared with the first one, and A/A sets the doubt") {
    const auto found = compare_clients(stored(), {.clients = {"paho", "gmqtt", "paho-c"}});
    REQUIRE(found);
    CHECK(found->warnings.empty());
    CHECK(word(row(*found, "pub_qos0_max", "paho-c", "rate")) == "faster");
    CHECK(word(row(*found, "pub_qos0_max", "gmqtt", "rate")) == "indistinguishable");
    // 6 % more, and paho differs from itself by 10 %.
    CHECK(word(row(*found, "pub_qos1_fixed", "gmqtt", "cpu_us_per_message")) == "cannot_tell");
    CHECK(word(row(*found, "pub_qos1_fixed", "paho-c", "cpu_us_per_message")) == "less");
    CHECK_THROWS(
        row(*found, "pub_qos1_fixed", "gmqtt", "rate")); // the scenario's, not the client's
}

TEST_CASE("two campaigns are compared client by client") {
    const auto found = compare_campaigns(stored(), changed("paho-c", 0.8), {});
    REQUIRE(found);
    CHECK(found->first == "20250101T000000Z-core");
    CHECK(found->second == "later");
    CHECK_THROWS(row(*found, "pub_qos0_max", "paho#control", "rate")); // says nothing here
    CHECK(word(row(*found, "pub_qos0_max", "paho-c", "rate")) == "slower");
    CHECK(word(row(*found, "pub_qos0_max", "gmqtt", "rate")) == "indistinguishable");
    CHECK(row(*found, "pub_qos0_max", "paho-c", "rate").comparison.ratio ==
          Approx(0.8).epsilon(1e-4));
}

TEST_CASE("slower by more than allowed is named, less and gains are not") {
    const CompareRequest rates{.clients = {"paho-c"}, .metrics = {"rate"}};
    CHECK(slower_than(*compare_campaigns(stored(), changed("paho-c", 0.8), rates), 0.05).size() ==
          1);
    CHECK(slower_than(*compare_campaigns(stored(), changed("paho-c", 0.8), rates), 0.3).empty());
    CHECK(slower_than(*compare_campaigns(stored(), changed("paho-c", 1.2), rates), 0.05).empty());
    CHECK(slower_than(*compare_campaigns(stored(), stored(), rates), 0).empty());
}

TEST_CASE("a client whose runs are not valid any more counts as slower") {
    StoredCampaign broken = stored();
    for (Json& run : broken.runs)
        if (at(run, "client_name") == "gmqtt") {
            add(run, "client.report.send.sent_window", -9'000);
            verdict::judge_into(run, verdict::context_from_manifest(broken.manifest));
        }
    const auto found =
        compare_campaigns(stored(), broken, {.clients = {"gmqtt"}, .metrics = {"cpu_percent"}});
    REQUIRE(found);
    CHECK(row(*found, "pub_qos1_fixed", "gmqtt", "cpu_percent").is_lost);
    CHECK(row(*found, "pub_qos1_fixed", "gmqtt", "cpu_percent").comparison.why ==
          "gmqtt is not_sustained");
    CHECK_FALSE(slower_than(*found, 0.05).empty());
}

TEST_CASE("campaigns under other conditions are refused with what differs") {
    struct Other {
        const char *part, *key;
        Json value;
        const char* said;
    };
    for (const Other& other :
         {Other{"machine", "cpu_model", "another",
                "another processor (\"a processor\", \"another\")"},
          Other{"machine", "architecture", "riscv64", "another architecture"},
          Other{"machine", "cores", 64, "another number of cores"},
          Other{"machine", "cpus", 64, "another number of logical CPUs"},
          Other{"machine", "smt", true, "another SMT"},
          Other{"machine", "turbo", true, "another turbo"},
          Other{"machine", "governors", JsonArray{"powersave"}, "another frequency governor"},
          Other{"machine", "kernel", "6.1", "another kernel (unknown, \"6.1\")"},
          Other{"machine", "distribution", "another", "another distribution"},
          Other{"machine", "hypervisor", "kvm", "another hypervisor"},
          Other{"machine", "container", "docker", "another container"},
          Other{"machine", "cpu_quota_cores", 1.5, "another CPU quota"},
          Other{"cores", "cpus", JsonObject{{"client", JsonArray{7}}},
                "another placement on cores"},
          Other{"broker", "managed", false, "another broker (true, false)"},
          Other{"broker", "version", "2.1.0", "another broker version (\"2.0.11\", \"2.1.0\")"},
          Other{"broker", "binary_sha256", "f", "another broker binary"},
          Other{"broker", "config_sha256", "f", "another broker configuration"},
          Other{"profile", "name", "smoke", "another profile (\"standard\", \"smoke\")"},
          Other{"profile", "warmup_ns", 1, "another warm-up"},
          Other{"profile", "window_ns", 1, "another window"},
          Other{"profile", "drain_ns", 1, "another drain"}}) {
        StoredCampaign second = stored();
        at(second.manifest, other.part).as_object()[other.key] = other.value;
        const auto refused = compare_campaigns(stored(), second, {.is_anyway = true});
        REQUIRE_FALSE(refused);
        INFO(refused.error().message);
        CHECK(refused.error().message.find(other.said) != std::string::npos);
        CHECK(refused.error().code == support::ErrorCode::wrong_input);
    }
}

TEST_CASE("another point compares to nothing and says in what it differs") {
    StoredCampaign second = stored();
    at(at(second.manifest, "points").as_array()[0], "pacing") = "each";
    const auto found = compare_campaigns(stored(), second, {});
    REQUIRE(found);
    CHECK(row(*found, "pub_qos0_max", "paho", "rate").comparison.why ==
          "the point is another one: pacing");
    CHECK(word(row(*found, "pub_qos0_max", "paho", "rate")) == "unknown");
}

TEST_CASE(
    "what is labelled as not comparable or was retracted needs --anyway, and stays labelled") {
    StoredCampaign smoke = stored();
    at(smoke.manifest, "comparable") = false;
    at(smoke.manifest, "not_comparable_because") = JsonArray{"profile 'smoke'"};
    CompareRequest request{.clients = {"paho", "gmqtt"}};
    const auto refused = compare_clients(smoke, request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message == "'20250101T000000Z-core' is NOT COMPARABLE: profile 'smoke'");
    request.is_anyway = true;
    const auto found = compare_clients(smoke, request);
    REQUIRE(found);
    CHECK(found->warnings == std::vector<std::string>{refused.error().message});

    StoredCampaign retracted = stored();
    retracted.standing = JsonObject{{"standing", "retracted"}, {"reason", "wrong broker"}};
    CHECK_FALSE(compare_campaigns(stored(), retracted, {}));
}

TEST_CASE("unknown clients and metrics are named with the nearest known one") {
    CHECK(compare_clients(stored(), {.clients = {"paho", "gmqt"}}).error().hint ==
          "did you mean 'gmqtt'?");
    CHECK(compare_clients(stored(), {.clients = {"paho", "gmqtt"}, .metrics = {"rat"}})
              .error()
              .hint == "did you mean 'rate'?");
    CHECK(compare_clients(stored(), {.clients = {"paho"}}).error().message ==
          "within one campaign two clients are compared");
}
