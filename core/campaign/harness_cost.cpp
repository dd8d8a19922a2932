#include "campaign/harness_cost.hpp"

#include "campaign/wiring.hpp"
#include "driver/environment.hpp"
#include "machine/sample.hpp"
#include "measure/control_page.hpp"
#include "measure/payload.hpp"
#include "session/child.hpp"
#include "session/temp_dir.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <sched.h>

namespace mqcore::campaign {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using support::Nanoseconds;
using support::Result;

constexpr double kNativeBudgetNs = 25;
constexpr double kHostedBudgetNs = 75; // for each call of a hosted language
constexpr Nanoseconds kDeadline = 20 * support::kSecond;
constexpr std::uint32_t kTag = 1;
// At the start of a campaign: short, and as many rounds as there is time for.
constexpr Nanoseconds kFloorWarmup = 25 * support::kMillisecond;
constexpr Nanoseconds kFloorWindow = 40 * support::kMillisecond;
constexpr Nanoseconds kFloorLimit = 1'800 * support::kMillisecond;
constexpr unsigned kFloorRounds = 5;

// All costs are processor time: what other processes take meanwhile is not mqcore's.
std::int64_t thread_cpu_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

template <class Work>
double cost_of(Work work) {
    constexpr int kTimes = 100'000;
    const std::int64_t begin = thread_cpu_ns();
    for (int i = 0; i < kTimes; ++i)
        work(i);
    return static_cast<double>(thread_cpu_ns() - begin) / kTimes;
}

struct Bare {
    double clock_read_ns = 0, stamp_ns = 0;
};

// Where the clients run, so that the same core's speed is compared.
Bare bare_costs_on(const std::vector<int>& cpus) {
    cpu_set_t before, wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus)
        CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    const bool can_move = ::sched_getaffinity(0, sizeof before, &before) == 0 &&
                          ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    // volatile: each turn is really made.
    volatile std::uint8_t written = 0;
    std::uint8_t payload[256] = {};
    const Bare bare{.clock_read_ns = cost_of([](int) { (void)support::now_ns(); }),
                    .stamp_ns = cost_of([&](int i) {
                        measure::stamp_payload(payload, sizeof payload, static_cast<Nanoseconds>(i),
                                               static_cast<std::uint64_t>(i));
                        written = payload[i % 16];
                    })};
    (void)written;
    if (can_move)
        ::sched_setaffinity(0, sizeof before, &before);
    return bare;
}

struct RoundResult {
    double ns_per_message = 0;
    std::optional<double> bare_ns; // of the null client's own code, as it says
    std::optional<std::uint64_t> rss_peak_kib;
};

// One worker, one round: at capacity until the window's end, sending only or with each message handed
// back.
Result<RoundResult> run_round(session::Supervisor& supervisor, const HarnessCostOptions& options,
                              const driver::Descriptor& client, const std::vector<int>& cpus,
                              const std::filesystem::path& log_file, scenario::Kind kind) {
    // QoS 1, so that the loops' turns for unawaited QoS 0 publishes do not count as mqcore's cost.
    const scenario::Point point{
        .id = "floor", .kind = kind, .qos = 1, .is_capacity = true, .topic = "floor"};
    const ClientSetup& setup = options.null_clients.setups.at(client.id);
    Wiring wiring = wire(point, {.tag = kTag,
                                 .driver_file = client.library_file.string(),
                                 .driver_folder = client.folder.string(),
                                 .environment = setup.environment,
                                 .options = setup.options,
                                 .receive_offer = {}});
    Result<measure::SharedPage> page = measure::SharedPage::create();
    if (!page)
        return std::move(page).error();
    Result<std::unique_ptr<session::Child>> child =
        supervisor.start({.name = client.id,
                          .party = "client",
                          .program = options.worker_program,
                          .arguments = {},
                          .cpus = cpus,
                          .log_file = log_file,
                          .has_control_channel = true,
                          .page_descriptor = page->fd(),
                          .environment = {}});
    if (!child)
        return std::move(child).error();

    const auto ask = [&](JsonObject order, std::string_view event) {
        return supervisor.ask(**child, order, event, support::now_ns() + kDeadline);
    };
    const auto failed = [&](const session::Reply& reply) {
        return support::Error{
            reply.failure->status == "interrupted" ? support::ErrorCode::interrupted
                                                   : support::ErrorCode::driver,
            fmt::format("null client '{}' failed: {}", client.id, reply.failure->reason),
            {}};
    };
    if (auto reply =
            ask({{"do", "prepare"}, {"spec", measure::to_json(wiring.worker)}}, "prepared");
        !reply)
        return failed(reply);
    const auto connected = ask({{"do", "connect"}}, "connected");
    if (!connected)
        return failed(connected);
    const measure::Schedule schedule{.start_ns = support::now_ns() + 20 * support::kMillisecond,
                                     .warmup_ns = options.warmup_ns,
                                     .window_ns = options.window_ns,
                                     .drain_ns = 0};
    const machine::ProcessSampler sampler((*child)->pid());
    const machine::ProcessSample before = sampler.sample();
    const auto driven = ask({{"do", "drive"}, {"schedule", measure::to_json(schedule)}}, "driven");
    if (!driven)
        return failed(driven);
    RoundResult result;
    if (const Json* notes = support::find(connected.event, "notes"))
        if (const std::string bare = support::text_or(*notes, "floor.bare_ns", ""); !bare.empty())
            result.bare_ns = std::strtod(bare.c_str(), nullptr);
    const machine::ProcessSample after = sampler.sample();
    const machine::ProcessUse use = sampler.use_between(before, after);
    result.rss_peak_kib = after.rss_peak_kib; // start-up included
    (*child)->expect_end();
    if (auto reply = ask({{"do", "finish"}}, "finished"); !reply)
        return failed(reply);

    const Json* report = support::find(driven.event, "report");
    const Json* send = report ? support::find(*report, "send") : nullptr;
    const std::uint64_t sent = send ? support::unsigned_or(*send, "sent", 0) : 0;
    if (sent == 0)
        return support::Error{support::ErrorCode::driver,
                              fmt::format("null client '{}' sent nothing", client.id),
                              {}};
    if (!use.cpu_ns)
        return support::Error{
            support::ErrorCode::host, "the processor time of a child process cannot be read", {}};
    result.ns_per_message = static_cast<double>(*use.cpu_ns) / static_cast<double>(sent);
    return result;
}

Spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    return {.best_ns = values.front(), .median_ns = values[values.size() / 2]};
}

Json to_json(const Spread& spread) {
    return JsonObject{{"best_ns", spread.best_ns}, {"median_ns", spread.median_ns}};
}

} // namespace

Result<HarnessCost> measure_harness_cost(const HarnessCostOptions& options) {
    Result<machine::Topology> topology = machine::read_topology();
    if (!topology)
        return std::move(topology).error();
    const std::vector<int> cpus = machine::plan_cores(*topology).of(machine::Party::client);
    Result<session::TempDir> logs = session::TempDir::create();
    if (!logs)
        return std::move(logs).error();
    session::Supervisor supervisor;

    struct Samples {
        std::vector<double> publish, both, bare_loop; // both: publish and receive
        std::optional<std::uint64_t> rss_peak_kib;
    };
    const std::vector<driver::Descriptor>& clients = options.null_clients.ready;
    std::vector<Samples> samples(clients.size());
    std::vector<double> clock_reads, stamps;
    const Nanoseconds begin = support::now_ns();
    Nanoseconds longest = 0;
    for (unsigned round = 0; round < options.rounds; ++round) {
        const Nanoseconds round_begin = support::now_ns();
        if (round > 0 && options.limit_ns && round_begin - begin + longest > options.limit_ns)
            break;
        const Bare bare = bare_costs_on(cpus);
        clock_reads.push_back(bare.clock_read_ns);
        stamps.push_back(bare.stamp_ns);
        for (std::size_t i = 0; i < clients.size(); ++i) {
            const auto log = logs->path() / (clients[i].id + ".log");
            auto publish =
                run_round(supervisor, options, clients[i], cpus, log, scenario::Kind::pub);
            if (!publish)
                return std::move(publish).error();
            auto both = run_round(supervisor, options, clients[i], cpus, log, scenario::Kind::rtt);
            if (!both)
                return std::move(both).error();
            samples[i].publish.push_back(publish->ns_per_message - publish->bare_ns.value_or(0));
            samples[i].both.push_back(both->ns_per_message - both->bare_ns.value_or(0));
            if (publish->bare_ns)
                samples[i].bare_loop.push_back(*publish->bare_ns);
            samples[i].rss_peak_kib = publish->rss_peak_kib;
        }
        longest = std::max(longest, support::now_ns() - round_begin);
    }

    HarnessCost cost{.clock_read = spread_of(clock_reads),
                     .stamp = spread_of(stamps),
                     .rounds = static_cast<unsigned>(clock_reads.size()),
                     .rows = {}};
    for (std::size_t i = 0; i < clients.size(); ++i) {
        const bool is_native = clients[i].host.empty();
        const double clock = cost.clock_read.best_ns; // as the figures that are held against it
        const Spread publish = spread_of(samples[i].publish), both = spread_of(samples[i].both);
        cost.rows.push_back(
            {.client = clients[i].id,
             .host = clients[i].host,
             .shape = clients[i].claims.shape,
             .publish = publish,
             .bare_loop = samples[i].bare_loop.empty()
                              ? std::nullopt
                              : std::optional(spread_of(samples[i].bare_loop)),
             .receive = {.best_ns = both.best_ns - publish.best_ns,
                         .median_ns = both.median_ns - publish.median_ns},
             .rss_peak_kib = samples[i].rss_peak_kib,
             // A hosted message is two calls, and its completion reads no clock.
             .publish_budget_ns = clock + (is_native ? kNativeBudgetNs : 2 * kHostedBudgetNs),
             .receive_budget_ns = clock + (is_native ? kNativeBudgetNs : kHostedBudgetNs)});
    }
    return cost;
}

Json to_json(const HarnessCost& cost) {
    JsonArray rows;
    for (const HarnessCostRow& row : cost.rows)
        rows.push_back(
            JsonObject{{"client", row.client},
                       {"host", row.host.empty() ? Json(nullptr) : Json(row.host)},
                       {"shape", driver::name_of_shape(row.shape)},
                       {"publish", to_json(row.publish)},
                       {"publish_budget_ns", row.publish_budget_ns},
                       {"receive", to_json(row.receive)},
                       {"receive_budget_ns", row.receive_budget_ns},
                       {"bare_loop", row.bare_loop ? to_json(*row.bare_loop) : Json(nullptr)},
                       {"rss_peak_kib", row.rss_peak_kib ? Json(*row.rss_peak_kib) : nullptr}});
    return JsonObject{{"clock_read", to_json(cost.clock_read)},
                      {"stamp", to_json(cost.stamp)},
                      {"rounds", cost.rounds},
                      {"rows", std::move(rows)}};
}

bool stands_for(const driver::Descriptor& null_client, const driver::Descriptor& client) {
    return null_client.host == client.host &&
           (client.host.empty() || null_client.claims.shape == client.claims.shape);
}

NullClients find_null_clients(const driver::Catalogue& catalogue,
                              std::span<const driver::Descriptor> clients,
                              const driver::EnvironmentOptions& options) {
    NullClients found;
    for (const driver::Descriptor& null_client : catalogue.drivers) {
        const auto is_stood_for = [&](const driver::Descriptor& client) {
            return stands_for(null_client, client);
        };
        if (!null_client.is_harness_floor ||
            (!clients.empty() && std::ranges::none_of(clients, is_stood_for)))
            continue;
        Result<driver::Environment> environment =
            driver::environment_status(null_client, catalogue.host(null_client.host), options);
        if (!environment || !environment->is_ready) {
            found.not_ready.push_back({null_client, environment
                                                        ? environment->reason
                                                        : support::one_line(environment.error())});
            continue;
        }
        found.setups.emplace(null_client.id, ClientSetup{.environment = environment->path.string(),
                                                         .environment_facts = nullptr,
                                                         .options = {}});
        found.ready.push_back(null_client);
    }
    return found;
}

Result<Json> measure_floor(const CampaignOptions& options) {
    const NullClients& null_clients = options.null_clients;
    std::string why_nothing;
    HarnessCost cost;
    if (!null_clients.ready.empty()) {
        Result<HarnessCost> measured =
            measure_harness_cost({.null_clients = null_clients,
                                  .worker_program = options.worker_program,
                                  .rounds = kFloorRounds,
                                  .warmup_ns = kFloorWarmup,
                                  .window_ns = kFloorWindow,
                                  .limit_ns = kFloorLimit});
        if (measured)
            cost = std::move(*measured);
        else if (measured.error().code == support::ErrorCode::interrupted)
            return std::move(measured).error();
        else
            why_nothing = session::without_personal_paths(support::one_line(measured.error()));
    }
    JsonObject floor = to_json(cost).as_object();
    if (cost.rounds == 0)
        floor["clock_read"] = floor["stamp"] = nullptr;
    JsonObject unavailable;
    for (const driver::Descriptor& client : options.plan.clients) {
        const auto null_client = std::ranges::find_if(
            null_clients.ready, [&](const auto& each) { return stands_for(each, client); });
        if (null_client == null_clients.ready.end()) {
            const auto not_ready =
                std::ranges::find_if(null_clients.not_ready, [&](const auto& each) {
                    return stands_for(each.client, client);
                });
            unavailable[client.id] =
                not_ready == null_clients.not_ready.end()
                    ? std::string("there is no null client of its host and shape")
                    : fmt::format("'{}' is not ready: {}", not_ready->client.id,
                                  session::without_personal_paths(not_ready->why));
        } else if (!why_nothing.empty()) {
            unavailable[client.id] = why_nothing;
        }
    }
    for (std::size_t i = 0; i < cost.rows.size(); ++i) {
        JsonArray stood_for;
        for (const driver::Descriptor& client : options.plan.clients)
            if (stands_for(null_clients.ready[i], client))
                stood_for.emplace_back(client.id);
        floor["rows"].as_array()[i].as_object()["clients"] = std::move(stood_for);
    }
    floor["unavailable"] = std::move(unavailable);
    return Json(std::move(floor));
}

} // namespace mqcore::campaign
