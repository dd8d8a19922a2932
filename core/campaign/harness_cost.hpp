#pragma once
// What mqcore itself costs a client, its floor: the null clients, which do nothing, driven as any other
// client is but without broker and peer. All figures are processor time, as a client's own cost is.
// Rounds are interleaved over all null clients, a bare clock read and a bare stamp, so that the figures
// compare; best and median are told.

#include "campaign/campaign.hpp"
#include "driver/discovery.hpp"
#include "driver/environment.hpp"

#include <span>

namespace mqcore::campaign {

struct HarnessCostOptions {
    NullClients null_clients;
    std::filesystem::path worker_program;
    unsigned rounds = 7;
    support::Nanoseconds warmup_ns = 100 * support::kMillisecond;
    support::Nanoseconds window_ns = 300 * support::kMillisecond;
    // No further round begins that would not end within it; the first one is always made. 0: no limit.
    support::Nanoseconds limit_ns = 0;
};

struct Spread {
    double best_ns = 0;
    double median_ns = 0;
};

struct HarnessCostRow {
    std::string client;
    std::string host; // "python"; empty: native
    std::uint32_t shape = 0;
    // One message: next(), the drive loop and done(), its clock read included. What the null client
    // itself does in a hosted language is taken out.
    Spread publish;
    std::optional<Spread> bare_loop; // and is this: its publish() without the core; nothing: native
    Spread receive;                  // one received(), its clock read included
    std::optional<std::uint64_t> rss_peak_kib; // of the worker
    // One clock read and this much: 25 ns native, 75 ns for each of next(), done() and received() in Python.
    double publish_budget_ns = 0, receive_budget_ns = 0;
};

struct HarnessCost {
    Spread clock_read;
    Spread stamp; // of one payload
    unsigned rounds = 0;
    std::vector<HarnessCostRow> rows;
};

support::Result<HarnessCost> measure_harness_cost(const HarnessCostOptions& options);
support::Json to_json(const HarnessCost& cost);

// Of the drivers that measure mqcore itself, those that stand for one of the clients; all of them when
// no client is named. Asks their hosts whether they are ready, with the interpreter that the clients have.
NullClients find_null_clients(const driver::Catalogue& catalogue,
                              std::span<const driver::Descriptor> clients,
                              const driver::EnvironmentOptions& options);

// True when the null client's calls are the client's: of one host, and there of one shape. A native
// client makes the same calls in every shape.
bool stands_for(const driver::Descriptor& null_client, const driver::Descriptor& client);

// The floor of a plan's clients for its manifest, in about two seconds; as in docs/results.schema.json,
// "harness_floor". What cannot be measured is named with the reason. An Error only when interrupted.
support::Result<support::Json> measure_floor(const CampaignOptions& options);

} // namespace mqcore::campaign
