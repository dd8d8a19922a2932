#include "campaign/campaign.hpp"

#include "campaign/harness_cost.hpp"
#include "campaign/manifest.hpp"
#include "campaign/resume.hpp"
#include "campaign/wiring.hpp"
#include "driver/client_reference.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
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

// The receive offer leaves the broker this much of what it can carry, so that it is not the first limit.
constexpr double kOfferShare = 0.9;
constexpr measure::Schedule kCeilingSchedule{.start_ns = 0,
                                             .warmup_ns = 300 * support::kMillisecond,
                                             .window_ns = 1'000 * support::kMillisecond,
                                             .drain_ns = 200 * support::kMillisecond};
constexpr measure::Schedule kAcknowledgementSchedule{.start_ns = 0,
                                                     .warmup_ns = 200 * support::kMillisecond,
                                                     .window_ns = 1'000 * support::kMillisecond,
                                                     .drain_ns = 50 * support::kMillisecond};

constexpr const char* kTimeForm = "{:%Y-%m-%dT%H:%M:%SZ}";

std::string utc_now(const char* form) {
    return fmt::format(fmt::runtime(form), fmt::gmtime(std::chrono::system_clock::to_time_t(
                                               std::chrono::system_clock::now())));
}

// The part of a results folder's name that says what is in it.
std::string name_of(const CampaignOptions& options) {
    if (!options.profiling)
        return options.scenarios.front().suite;
    return fmt::format("profile-{}-{}-{}",
                       driver::file_name_of_client(options.plan.clients.front().id),
                       options.plan.points.front().id, options.profiling->profiler->name);
}

class Campaign {
  public:
    Campaign(const CampaignOptions& options, Watcher& watcher, std::optional<ResultStore> resumed)
        : options_(options), watcher_(watcher),
          attempts_max_(attempts_max(options.profiling.has_value())), is_resumed_(resumed),
          store_(std::move(resumed)) {}

    Result<CampaignOutcome> run();

  private:
    Result<void> open();
    Result<void> make_folder();
    void discard_folder();
    // Takes the stored manifest over, or says what is not as it was.
    Result<void> take_up(const JsonObject& fresh);
    std::size_t runs_done() const;
    RunKey key_of(const PlannedRun& planned) const;
    // Later sessions go on under what they find, so an interrupt ends the campaign before it begins.
    Result<void> measure_ceilings();
    Result<void> measure_acknowledgement();
    bool has_broker() const;
    void note_profile();
    // Nothing: interrupted before it was judged.
    Result<std::optional<Json>> attempt(const PlannedRun& planned, std::uint32_t attempt);
    // A client said in a run that it cannot do the point: the pair is refused from here on. False: it
    // is already.
    bool note_refusal(const Json& run);
    Result<void> write_manifest(std::string_view state);
    std::optional<double> ceiling_for(const Point& point) const;
    std::uint32_t new_tag();

    const CampaignOptions& options_;
    Watcher& watcher_;
    const std::uint32_t attempts_max_;
    const bool is_resumed_;
    machine::CorePlan cores_;
    JsonObject manifest_;
    std::vector<std::string> not_comparable_because_;
    std::optional<ResultStore> store_;
    std::unique_ptr<session::Session> session_;
    verdict::Context context_;
    JsonArray ceilings_;
    std::set<std::pair<std::string, std::string>> refused_; // point and client, at run time
    std::map<RunKey, Attempted> attempted_;
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
        const RunKey key = key_of(runs[index]);
        Attempted& done = attempted_[key];
        done.is_settled |= refused_.contains({std::get<0>(key), std::get<1>(key)});
        if (!done.is_settled && done.attempts < attempts_max_)
            watcher_.run_started(runs[index], index, whole * (runs.size() - index) / runs.size());
        while (!done.is_settled && done.attempts < attempts_max_) {
            Result<std::optional<Json>> document = attempt(runs[index], done.attempts + 1);
            if (!document) {
                // What is finished is stored already; say in the manifest that the rest is missing.
                if (Result<void> written = write_manifest("interrupted"); !written)
                    watcher_.note(support::one_line(written.error()));
                watcher_.note(fmt::format("`mqcore run --resume {}` goes on with the campaign",
                                          store_->folder().string()));
                return std::move(document).error();
            }
            if (!*document) {
                outcome.ending = Ending::interrupted;
                break;
            }
            const std::string status = support::text_or(**document, "status", "");
            ++done.attempts;
            done.is_settled = status != name_of(verdict::Status::invalid);
            if (status == name_of(verdict::Status::unsupported))
                if (note_refusal(**document))
                    if (Result<void> written = write_manifest("running"); !written)
                        return std::move(written).error();
            watcher_.run_ended(runs[index], index, **document,
                               !done.is_settled && done.attempts < attempts_max_);
        }
        if (!done.is_settled && done.attempts == attempts_max_)
            ++outcome.invalid_runs;
        if (session_->is_interrupted())
            outcome.ending = Ending::interrupted;
        if (index + 1 == runs.size() && options_.until)
            std::ranges::copy(further_runs(options_.plan, store_->runs(), *options_.until),
                              std::back_inserter(runs));
    }
    session_.reset();
    if (options_.profiling)
        note_profile();
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
    if (options_.profiling)
        not_comparable_because_.insert(not_comparable_because_.begin(),
                                       why_not_comparable(*options_.profiling));
    if (options_.external_broker)
        not_comparable_because_.push_back("the broker was not started by mqcore");

    if (!is_resumed_)
        if (Result<void> made = make_folder(); !made)
            return made;
    Result<std::unique_ptr<session::Session>> session =
        session::Session::start({.worker_program = options_.worker_program,
                                 .peer_program = options_.peer_program,
                                 .log_folder = store_->logs(),
                                 .cores = cores_,
                                 .has_broker = has_broker(),
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
                     store_->folder().filename().string(), utc_now(kTimeForm));
    if (!manifest) {
        discard_folder();
        return std::move(manifest).error();
    }
    if (is_resumed_) {
        if (Result<void> taken = take_up(*manifest); !taken)
            return taken;
    } else {
        manifest_ = std::move(*manifest);
        Result<Json> floor = measure_floor(options_);
        if (!floor) {
            discard_folder();
            return std::move(floor).error();
        }
        manifest_["harness_floor"] = std::move(*floor);
        if (options_.profiling)
            manifest_["profiler"] = to_json(*options_.profiling);
    }
    manifest_["sessions"].as_array().push_back(
        JsonObject{{"started", utc_now(kTimeForm)}, {"ended", nullptr}, {"state", "running"}});
    watcher_.started(options_, store_->folder(), not_comparable_because_, runs_done());
    if (!is_resumed_)
        if (Result<void> measured = measure_ceilings(); !measured) {
            discard_folder();
            return measured;
        }
    context_ = verdict::context_from_manifest(manifest_);
    return write_manifest("running");
}

Result<void> Campaign::make_folder() {
    Result<ResultStore> store =
        ResultStore::create(options_.output, "results",
                            fmt::format("{}-{}", utc_now("{:%Y%m%dT%H%M%SZ}"), name_of(options_)));
    if (!store)
        return std::move(store).error();
    store_ = std::move(*store);
    const std::vector<std::string> names = scenario_names(options_.scenarios);
    for (std::size_t i = 0; i < names.size(); ++i)
        if (Result<void> written = store_->write_scenario(names[i], options_.scenarios[i].content);
            !written)
            return written;
    return {};
}

// Nothing was measured: leave no half-made folder behind.
void Campaign::discard_folder() {
    if (is_resumed_)
        return;
    std::error_code ignored;
    std::filesystem::remove_all(store_->folder(), ignored);
}

Result<void> Campaign::take_up(const JsonObject& fresh) {
    const Json& stored = store_->first_manifest();
    const std::vector<std::string> changes =
        changes_between(frozen_identity(stored), frozen_identity(fresh));
    if (!changes.empty())
        return support::Error{
            support::ErrorCode::wrong_input,
            fmt::format("the campaign in '{}' cannot go on, because this is not as it was when it "
                        "began:\n  {}",
                        store_->folder().string(), fmt::join(changes, "\n  ")),
            "put it back, or start a new campaign"};
    manifest_ = stored.as_object();

    // What this session's machine adds holds for the campaign as a whole.
    JsonArray& reasons = manifest_["not_comparable_because"].as_array();
    for (const std::string& why : not_comparable_because_)
        if (std::ranges::find(reasons, Json(why)) == reasons.end())
            reasons.emplace_back(why);
    manifest_["comparable"] = reasons.empty();
    for (Json& session : manifest_["sessions"].as_array())
        if (support::text_or(session, "state", "") == "running")
            session.as_object()["state"] = "killed";

    attempted_ = attempted(store_->runs());
    for (const Json& refusal : manifest_["refused"].as_array())
        if (support::boolean_or(refusal, "at_run_time", false))
            refused_.emplace(support::text_or(refusal, "point", ""),
                             support::text_or(refusal, "client", ""));
    // One whose run was stored just before mqcore was killed.
    for (const Json& run : store_->runs())
        if (support::text_or(run, "status", "") == name_of(verdict::Status::unsupported))
            note_refusal(run);
    return {};
}

RunKey Campaign::key_of(const PlannedRun& planned) const {
    return {options_.plan.points[planned.point].id, options_.plan.clients[planned.client].id,
            planned.run};
}

std::size_t Campaign::runs_done() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(options_.plan.runs, [&](const PlannedRun& planned) {
            const auto found = attempted_.find(key_of(planned));
            return found != attempted_.end() &&
                   (found->second.is_settled || found->second.attempts == attempts_max_);
        }));
}

// A campaign of direct points alone has none.
bool Campaign::has_broker() const {
    return std::ranges::any_of(options_.plan.points,
                               [](const Point& point) { return !point.is_direct; });
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
            if (rate.error().code == support::ErrorCode::interrupted)
                return std::move(rate).error();
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
    return has_broker() ? measure_acknowledgement() : Result<void>();
}

// Nobody subscribes, so that the broker does nothing but acknowledge.
Result<void> Campaign::measure_acknowledgement() {
    const Point point{.id = "acknowledgement",
                      .kind = Kind::sub,
                      .qos = 1,
                      .is_capacity = true,
                      .topic = "acknowledgement"};
    measure::PeerSpec source = *wire(point, {.tag = new_tag()}).peer;
    source.send->window = 1;
    Result<measure::Histogram> times =
        session_->acknowledgement(source, kAcknowledgementSchedule, store_->logs() / "ceiling.log");
    if (!times && times.error().code == support::ErrorCode::interrupted)
        return std::move(times).error();
    JsonObject told{{"qos", point.qos},
                    {"protocol", measure::name_of(point.protocol)},
                    {"payload_bytes", point.payload_bytes}};
    if (times && times->count() > 0) {
        told["count"] = times->count();
        told["mean_ns"] = *times->mean();
        for (const auto& [name, quantile] :
             {std::pair("p50_ns", 0.5), {"p90_ns", 0.9}, {"p99_ns", 0.99}, {"p999_ns", 0.999}})
            told[name] = *times->quantile(quantile);
        told["max_ns"] = *times->max();
    } else {
        told["count"] = 0;
        told["unavailable"] = times ? std::string("nothing was acknowledged")
                                    : session::without_personal_paths(one_line(times.error()));
    }
    manifest_["acknowledgement"] = std::move(told);
    return {};
}

// What went wrong with it stands where the files would be: a run without them is stored as well.
void Campaign::note_profile() {
    Result<JsonObject> made =
        collect_profile(*options_.profiling, store_->folder() / kProfileFolder);
    JsonObject& told = manifest_["profiler"].as_object();
    if (made)
        for (auto& member : *made)
            told[member.key()] = std::move(member.value());
    else
        told["unavailable"] = session::without_personal_paths(one_line(made.error()));
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
    std::optional<session::Attachment> profiler;
    if (options_.profiling) {
        Result<session::Attachment> attached =
            attachment(*options_.profiling, store_->folder() / kProfileFolder);
        if (!attached)
            return std::move(attached).error();
        profiler = std::move(*attached);
    }

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
         .log_file = store_->logs() / log,
         .profiler = std::move(profiler),
         .descriptor = client});
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

bool Campaign::note_refusal(const Json& run) {
    const std::string point = support::text_or(run, "point", "");
    const std::string client = support::text_or(run, "client_name", "");
    if (!refused_.emplace(point, client).second)
        return false;
    const Json* failure = support::find(run, "failure");
    manifest_["refused"].as_array().push_back(
        to_json(Refusal{.client = client,
                        .point = point,
                        .missing = {failure ? support::text_or(*failure, "reason", "") : ""},
                        .at_run_time = true}));
    return true;
}

Result<void> Campaign::write_manifest(std::string_view state) {
    manifest_["state"] = state;
    JsonObject& session = manifest_["sessions"].as_array().back().as_object();
    session["state"] = state;
    if (state != "running")
        session["ended"] = utc_now(kTimeForm);
    return store_->write_manifest(manifest_);
}

std::uint32_t Campaign::new_tag() {
    for (;;)
        if (const std::uint32_t tag = random_(); tag != 0 && used_tags_.insert(tag).second)
            return tag;
}

} // namespace

Result<CampaignOutcome> run_campaign(const CampaignOptions& options, Watcher& watcher,
                                     std::optional<ResultStore> resumed) {
    return Campaign(options, watcher, std::move(resumed)).run();
}

} // namespace mqcore::campaign
