#include "campaign/campaign.hpp"

#include "campaign/harness_cost.hpp"
#include "campaign/manifest.hpp"
#include "campaign/wiring.hpp"
#include "driver/client_reference.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <random>
#include <set>

namespace mqcore::campaign {
namespace {

using scenario::Kind;
using scenario::Point;
using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Nanoseconds;
using support::Result;

// An invalid run says nothing about the client, so it is tried once more; both attempts are stored.
constexpr std::uint32_t kAttempts = 2;

// The receive offer leaves the broker this much of what it can carry, so that it is not the first limit.
constexpr double kOfferShare = 0.9;
constexpr measure::Schedule kCeilingSchedule{.start_ns = 0,
                                             .warmup_ns = 300 * support::kMillisecond,
                                             .window_ns = 1'000 * support::kMillisecond,
                                             .drain_ns = 200 * support::kMillisecond};

std::string utc_now(const char* form) {
    return fmt::format(fmt::runtime(form), fmt::gmtime(std::chrono::system_clock::to_time_t(
                                               std::chrono::system_clock::now())));
}

class Campaign {
  public:
    Campaign(const CampaignOptions& options, Watcher& watcher)
        : options_(options), watcher_(watcher) {}

    Result<CampaignOutcome> run();

  private:
    Result<void> open();
    void discard_folder();
    Result<void> measure_ceilings();
    // Nothing: interrupted before it was judged.
    Result<std::optional<Json>> attempt(const PlannedRun& planned, std::uint32_t attempt);
    // A client said in a run that it cannot do the point: the pair is refused from here on.
    Result<void> refuse(const PlannedRun& planned, const Json& document);
    Result<void> write_manifest(std::string_view state);
    std::optional<double> ceiling_for(const Point& point) const;
    std::uint32_t new_tag();

    const CampaignOptions& options_;
    Watcher& watcher_;
    machine::CorePlan cores_;
    JsonObject manifest_;
    std::vector<std::string> not_comparable_because_;
    std::optional<ResultStore> store_;
    std::unique_ptr<session::Session> session_;
    verdict::Context context_;
    JsonArray ceilings_;
    std::set<std::pair<std::size_t, std::size_t>> refused_; // point and client, at run time
    std::set<std::uint32_t> used_tags_;
    std::random_device random_;
};

Result<CampaignOutcome> Campaign::run() {
    if (Result<void> opened = open(); !opened)
        return std::move(opened).error();

    CampaignOutcome outcome{.folder = store_->folder()};
    std::vector<PlannedRun> runs = options_.plan.runs;
    const Nanoseconds whole = estimate_ns(options_.plan, options_.profile);
    for (std::size_t index = 0; index < runs.size() && outcome.ending == Ending::finished;
         ++index) {
        if (refused_.contains({runs[index].point, runs[index].client}))
            continue;
        watcher_.run_started(runs[index], index, whole * (runs.size() - index) / runs.size());
        bool is_valid_enough = false;
        for (std::uint32_t n = 1; n <= kAttempts && !is_valid_enough; ++n) {
            Result<std::optional<Json>> document = attempt(runs[index], n);
            if (!document) {
                // What is finished is stored already; say in the manifest that the rest is missing.
                if (Result<void> written = write_manifest("interrupted"); !written)
                    watcher_.note(support::one_line(written.error()));
                return std::move(document).error();
            }
            if (!*document) {
                outcome.ending = Ending::interrupted;
                break;
            }
            const std::string status = support::text_or(**document, "status", "");
            is_valid_enough = status != name_of(verdict::Status::invalid);
            if (status == name_of(verdict::Status::unsupported))
                if (Result<void> refused = refuse(runs[index], **document); !refused)
                    return std::move(refused).error();
            const bool is_retried = !is_valid_enough && n < kAttempts;
            watcher_.run_ended(runs[index], index, **document, is_retried);
            if (!is_valid_enough && !is_retried)
                ++outcome.invalid_runs;
        }
        if (session_->is_interrupted())
            outcome.ending = Ending::interrupted;
        if (index + 1 == runs.size() && options_.until)
            std::ranges::copy(further_runs(options_.plan, store_->runs(), *options_.until),
                              std::back_inserter(runs));
    }
    session_.reset();
    if (Result<void> written =
            write_manifest(outcome.ending == Ending::finished ? "finished" : "interrupted");
        !written)
        return std::move(written).error();
    outcome.manifest = manifest_;
    outcome.runs = store_->runs();
    return outcome;
}

Result<void> Campaign::open() {
    Result<machine::Topology> topology = machine::read_topology();
    if (!topology)
        return std::move(topology).error();
    cores_ = machine::plan_cores(*topology);
    const machine::MachineFacts facts = machine::read_facts(*topology);
    not_comparable_because_ =
        machine::not_comparable_because({.name = std::string(options_.profile.name),
                                         .is_comparable = options_.profile.is_comparable},
                                        cores_, facts);
    if (options_.external_broker)
        not_comparable_because_.push_back("the broker was not started by mqcore");

    Result<ResultStore> store = ResultStore::create(
        options_.output, "results",
        fmt::format("{}-{}", utc_now("{:%Y%m%dT%H%M%SZ}"), options_.scenarios.front().suite));
    if (!store)
        return std::move(store).error();
    store_ = std::move(*store);

    Result<std::unique_ptr<session::Session>> session = session::Session::start(
        {.worker_program = options_.worker_program,
         .peer_program = options_.peer_program,
         .log_folder = store_->logs(),
         .cores = cores_,
         .has_broker = std::ranges::any_of(options_.plan.points,
                                           [](const Point& point) { return !point.is_direct; }),
         .external_broker = options_.external_broker,
         .external_ca_file = options_.external_ca_file,
         .id = fmt::format("mqcore{:08x}", new_tag())});
    if (!session) {
        discard_folder();
        return std::move(session).error();
    }
    session_ = std::move(*session);

    Result<JsonObject> manifest =
        new_manifest(options_, facts, cores_, *session_, not_comparable_because_,
                     store_->folder().filename().string(), utc_now("{:%Y-%m-%dT%H:%M:%SZ}"));
    if (!manifest)
        return std::move(manifest).error();
    manifest_ = std::move(*manifest);
    Result<Json> floor = measure_floor(options_);
    if (!floor) {
        discard_folder();
        return std::move(floor).error();
    }
    manifest_["harness_floor"] = std::move(*floor);
    watcher_.started(options_, store_->folder(), not_comparable_because_);
    if (Result<void> measured = measure_ceilings(); !measured)
        return measured;
    return write_manifest("running");
}

// Nothing was measured: leave no half-made folder behind.
void Campaign::discard_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(store_->folder(), ignored);
}

// The broker's own limit for the loads that the plan's receive points offer.
Result<void> Campaign::measure_ceilings() {
    std::set<std::tuple<std::uint32_t, measure::Protocol, std::uint32_t>> loads;
    for (const PlannedRun& run : options_.plan.runs)
        if (const Point& point = options_.plan.points[run.point];
            point.is_capacity && !point.is_direct)
            loads.insert({point.qos, point.protocol, point.payload_bytes});
    for (const auto& [qos, protocol, payload_bytes] : loads) {
        Point load{.id = "ceiling",
                   .qos = qos,
                   .payload_bytes = payload_bytes,
                   .is_capacity = true,
                   .protocol = protocol,
                   .topic = "ceiling"};
        load.kind = Kind::pub;
        const std::uint32_t tag = new_tag();
        const measure::PeerSpec sink = *wire(load, {.tag = tag}).peer;
        load.kind = Kind::sub;
        measure::PeerSpec source = *wire(load, {.tag = tag}).peer;
        source.endpoint.client_id += "s"; // both peers stand on the peer's side here
        Result<double> rate =
            session_->relay_rate(source, sink, kCeilingSchedule, store_->logs() / "ceiling.log");
        if (!rate) {
            watcher_.note(fmt::format("the broker's ceiling at QoS {} is not known: {}", qos,
                                      support::one_line(rate.error())));
            continue;
        }
        ceilings_.push_back(JsonObject{{"qos", qos},
                                       {"protocol", measure::name_of(protocol)},
                                       {"payload_bytes", payload_bytes},
                                       {"rate", *rate},
                                       {"receive_offer", *rate * kOfferShare}});
    }
    manifest_["ceilings"] = ceilings_;
    context_ = verdict::context_from_manifest(manifest_);
    return {};
}

std::optional<double> Campaign::ceiling_for(const Point& point) const {
    return context_.ceiling_for(point.qos, measure::name_of(point.protocol), point.payload_bytes);
}

Result<std::optional<Json>> Campaign::attempt(const PlannedRun& planned, std::uint32_t attempt) {
    const Point& point = options_.plan.points[planned.point];
    const driver::Descriptor& client = options_.plan.clients[planned.client];
    const ClientSetup& setup = options_.setups.at(client.id);
    RunIdentity identity{.tag = new_tag(),
                         .driver_file = client.library_file.string(),
                         .driver_folder = client.folder.string(),
                         .environment = setup.environment,
                         .options = setup.options,
                         .receive_offer = {}};
    if (const auto ceiling = ceiling_for(point);
        point.kind == Kind::sub && !point.is_direct && ceiling)
        identity.receive_offer = *ceiling * kOfferShare;
    Wiring wiring = wire(point, identity);

    const std::string log = fmt::format(
        "{}.{}.{}.{}.log", point.id, driver::file_name_of_client(client.id), planned.run, attempt);
    const std::string started_at = utc_now("{:%Y-%m-%dT%H:%M:%SZ}");
    Result<session::RunParts> parts = session_->run(
        {.worker = std::move(wiring.worker),
         .peer = std::move(wiring.peer),
         .client_transport = point.has_tls ? session::Transport::tls : session::Transport::plain,
         .lengths = {.start_ns = 0,
                     .warmup_ns = options_.profile.warmup_ns,
                     .window_ns = options_.profile.window_ns,
                     .drain_ns = options_.profile.drain_ns},
         .log_file = store_->logs() / log});
    if (!parts)
        return std::move(parts).error();
    if (parts->failure && parts->failure->status == "interrupted")
        return std::optional<Json>();

    JsonObject document{
        {"client_name", client.id},
        {"point", point.id},
        {"run", planned.run},
        {"attempt", attempt},
        {"started_at", started_at},
        {"spec", to_json(point)},
        {"receive_offer", identity.receive_offer ? Json(*identity.receive_offer) : nullptr},
        {"comparable", not_comparable_because_.empty()},
        {"not_comparable_because",
         JsonArray(not_comparable_because_.begin(), not_comparable_because_.end())},
        {"overhead_ns", parts->overhead_ns}};
    for (auto& member : parts->document)
        document[member.key()] = std::move(member.value());
    Json run = std::move(document);
    verdict::judge_into(run, context_);
    if (Result<void> stored = store_->add_run(client.id, run); !stored)
        return std::move(stored).error();
    return std::optional<Json>(std::move(run));
}

Result<void> Campaign::refuse(const PlannedRun& planned, const Json& document) {
    refused_.insert({planned.point, planned.client});
    const Json* failure = support::find(document, "failure");
    manifest_["refused"].as_array().push_back(
        to_json(Refusal{.client = options_.plan.clients[planned.client].id,
                        .point = options_.plan.points[planned.point].id,
                        .missing = {failure ? support::text_or(*failure, "reason", "") : ""},
                        .at_run_time = true}));
    return write_manifest("running");
}

Result<void> Campaign::write_manifest(std::string_view state) {
    manifest_["state"] = state;
    return store_->write_manifest(manifest_);
}

std::uint32_t Campaign::new_tag() {
    for (;;)
        if (const std::uint32_t tag = random_(); tag != 0 && used_tags_.insert(tag).second)
            return tag;
}

} // namespace

Result<CampaignOutcome> run_campaign(const CampaignOptions& options, Watcher& watcher) {
    return Campaign(options, watcher).run();
}

} // namespace mqcore::campaign
