#pragma once
// Runs a plan: one session, every run of the plan in its order, each judged and stored as it ends.
// Blocks until the plan is done, the user interrupts, or the session cannot go on. A campaign that ended
// early goes on in a further session, under the ceilings and the floor of the first one.

#include "campaign/plan.hpp"
#include "campaign/profiling.hpp"
#include "campaign/store.hpp"
#include "campaign/until.hpp"
#include "machine/topology.hpp"
#include "session/session.hpp"
#include "verdict/judge.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mqcore::campaign {

// What a client needs besides its descriptor.
struct ClientSetup {
    std::string environment;         // folder of its language environment; empty: none
    support::Json environment_facts; // for the manifest; null: none
    driver::Options options;         // [driver.ID] of the scenarios, and the variant's own
    std::string control_of;          // id of the client that this one is once more; empty: of none
};

// Clients that do nothing: what a run with them costs is mqcore's own.
struct NullClients {
    std::vector<driver::Descriptor> ready;
    std::map<std::string, ClientSetup> setups; // of the ready ones, by id
    struct NotReady {
        driver::Descriptor client;
        std::string why;
    };
    std::vector<NotReady> not_ready;
};

struct CampaignOptions {
    std::vector<scenario::Scenario> scenarios;
    Plan plan;
    std::map<std::string, ClientSetup> setups; // by client id
    NullClients null_clients;                  // of the plan's languages and shapes
    std::optional<Until> until;                // nothing: the plan's runs and no more
    std::optional<Profiling> profiling;        // of the one run that is planned; nothing: none
    scenario::Profile profile;
    std::filesystem::path worker_program, peer_program;
    std::filesystem::path output; // empty: a dated folder under results/
    std::optional<session::BrokerUrl> external_broker;
    std::string external_broker_url; // as given, for the manifest
    std::string external_ca_file;
};

// What a campaign tells whoever watches it.
class Watcher {
  public:
    virtual ~Watcher() = default;
    virtual void started(const CampaignOptions& options, const std::filesystem::path& folder,
                         const std::vector<std::string>& not_comparable_because,
                         std::size_t runs_done) = 0;
    virtual void run_started(const PlannedRun& run, std::size_t index,
                             support::Nanoseconds left_ns) = 0;
    virtual void run_ended(const PlannedRun& run, std::size_t index, const support::Json& document,
                           bool is_retried) = 0;
    virtual void note(const std::string& text) = 0;
};

enum class Ending { finished, interrupted };

struct CampaignOutcome {
    Ending ending = Ending::finished;
    std::filesystem::path folder;
    support::Json manifest;
    std::vector<support::Json> runs; // judged
    std::size_t invalid_runs = 0;    // whose last attempt was invalid
};

// `resumed`: the folder of the campaign to go on with, whose manifest the options were made from. It is
// refused, and nothing in it is touched, when something has changed since it began.
support::Result<CampaignOutcome> run_campaign(const CampaignOptions& options, Watcher& watcher,
                                              std::optional<ResultStore> resumed = {});

} // namespace mqcore::campaign
