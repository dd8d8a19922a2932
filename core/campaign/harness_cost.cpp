#include "campaign/harness_cost.hpp"

#include "campaign/wiring.hpp"
#include "machine/sample.hpp"
#include "measure/control_page.hpp"
#include "session/child.hpp"
#include "session/temp_dir.hpp"

#include <algorithm>
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
constexpr Nanoseconds kWarmup = 100 * support::kMillisecond;
constexpr Nanoseconds kDeadline = 20 * support::kSecond;
constexpr std::uint32_t kTag = 1;

double clock_read_ns() {
    constexpr int kReads = 200'000;
    const Nanoseconds begin = support::now_ns();
    for (int i = 0; i < kReads - 1; ++i)
        (void)support::now_ns();
    return static_cast<double>(support::now_ns() - begin) / kReads;
}

// The clock is read where the clients run, so that the same core's speed is compared.
double clock_read_on(const std::vector<int>& cpus) {
    cpu_set_t before, wanted;
    CPU_ZERO(&wanted);
    for (const int cpu : cpus)
        CPU_SET(static_cast<std::size_t>(cpu), &wanted);
    const bool can_move = ::sched_getaffinity(0, sizeof before, &before) == 0 &&
                          ::sched_setaffinity(0, sizeof wanted, &wanted) == 0;
    const double cost = clock_read_ns();
    if (can_move)
        ::sched_setaffinity(0, sizeof before, &before);
    return cost;
}

struct RoundResult {
    double ns_per_message = 0;
    std::optional<std::uint64_t> rss_peak_kib;
};

// One worker, one round: at capacity for the window, sending only or with each message handed back.
Result<RoundResult> run_round(session::Supervisor& supervisor, const HarnessCostOptions& options,
                              const driver::Descriptor& client, const std::vector<int>& cpus,
                              const std::filesystem::path& log_file, scenario::Kind kind) {
    // QoS 1, so that the loops' turns for unawaited QoS 0 publishes do not count as mqcore's cost.
    const scenario::Point point{
        .id = "floor", .kind = kind, .qos = 1, .is_capacity = true, .topic = "floor"};
    const ClientSetup& setup = options.setups.at(client.id);
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
        return support::Error{support::ErrorCode::driver,
                              fmt::format("null client '{}' failed in {}: {}", client.id,
                                          reply.failure->phase, reply.failure->reason),
                              {}};
    };
    if (auto reply =
            ask({{"do", "prepare"}, {"spec", measure::to_json(wiring.worker)}}, "prepared");
        !reply)
        return failed(reply);
    if (auto reply = ask({{"do", "connect"}}, "connected"); !reply)
        return failed(reply);
    const measure::Schedule schedule{.start_ns = support::now_ns() + 20 * support::kMillisecond,
                                     .warmup_ns = kWarmup,
                                     .window_ns = options.window_ns,
                                     .drain_ns = 0};
    auto driven = ask({{"do", "drive"}, {"schedule", measure::to_json(schedule)}}, "driven");
    if (!driven)
        return failed(driven);
    RoundResult result;
    result.rss_peak_kib = machine::ProcessSampler((*child)->pid()).sample().rss_peak_kib;
    (*child)->expect_end();
    if (auto reply = ask({{"do", "finish"}}, "finished"); !reply)
        return failed(reply);

    const Json* report = support::find(driven.event, "report");
    const Json* send = report ? support::find(*report, "send") : nullptr;
    const std::uint64_t sent = send ? support::unsigned_or(*send, "sent_window", 0) : 0;
    if (sent == 0)
        return support::Error{support::ErrorCode::driver,
                              fmt::format("null client '{}' sent nothing", client.id),
                              {}};
    result.ns_per_message = static_cast<double>(options.window_ns) / static_cast<double>(sent);
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
        std::vector<double> publish, receive;
        std::optional<std::uint64_t> rss_peak_kib;
    };
    std::vector<Samples> samples(options.null_clients.size());
    std::vector<double> clock_reads;
    for (unsigned round = 0; round < options.rounds; ++round) {
        clock_reads.push_back(clock_read_on(cpus));
        for (std::size_t i = 0; i < options.null_clients.size(); ++i) {
            const auto log = logs->path() / (options.null_clients[i].id + ".log");
            auto publish = run_round(supervisor, options, options.null_clients[i], cpus, log,
                                     scenario::Kind::pub);
            if (!publish)
                return std::move(publish).error();
            auto both = run_round(supervisor, options, options.null_clients[i], cpus, log,
                                  scenario::Kind::rtt);
            if (!both)
                return std::move(both).error();
            samples[i].publish.push_back(publish->ns_per_message);
            samples[i].receive.push_back(both->ns_per_message - publish->ns_per_message);
            samples[i].rss_peak_kib = publish->rss_peak_kib;
        }
    }

    HarnessCost cost{.clock_read = spread_of(clock_reads), .rows = {}};
    for (std::size_t i = 0; i < options.null_clients.size(); ++i) {
        const driver::Descriptor& client = options.null_clients[i];
        const bool is_native = client.host.empty();
        const double clock = cost.clock_read.median_ns;
        cost.rows.push_back(
            {.client = client.id,
             .shape = client.claims.shape,
             .is_native = is_native,
             .publish = spread_of(samples[i].publish),
             .receive = spread_of(samples[i].receive),
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
                       {"shape", driver::name_of_shape(row.shape)},
                       {"native", row.is_native},
                       {"publish", to_json(row.publish)},
                       {"receive", to_json(row.receive)},
                       {"publish_budget_ns", row.publish_budget_ns},
                       {"receive_budget_ns", row.receive_budget_ns},
                       {"rss_peak_kib", row.rss_peak_kib ? Json(*row.rss_peak_kib) : nullptr}});
    return JsonObject{{"clock_read", to_json(cost.clock_read)}, {"rows", std::move(rows)}};
}

} // namespace mqcore::campaign
