#pragma once
// What mqcore itself costs a client: the null clients, which do nothing, driven as any other client is
// but without broker and peer. Rounds are interleaved over all null clients and a bare clock read, so
// that the figures compare; best and median are told.

#include "campaign/campaign.hpp"

namespace mqcore::campaign {

struct HarnessCostOptions {
    std::vector<driver::Descriptor> null_clients;
    std::map<std::string, ClientSetup> setups; // by client id
    std::filesystem::path worker_program;
    unsigned rounds = 7;
    support::Nanoseconds window_ns = 300 * support::kMillisecond;
};

struct Spread {
    double best_ns = 0;
    double median_ns = 0;
};

struct HarnessCostRow {
    std::string client;
    std::uint32_t shape = 0;
    bool is_native = false;
    Spread publish; // one message: next() and done(), its clock read included
    Spread receive; // one received(), its clock read included
    std::optional<std::uint64_t> rss_peak_kib; // of the worker
    // One clock read and this much: 25 ns native, 75 ns for each of next(), done() and received() in Python.
    double publish_budget_ns = 0, receive_budget_ns = 0;
};

struct HarnessCost {
    Spread clock_read;
    std::vector<HarnessCostRow> rows;
};

support::Result<HarnessCost> measure_harness_cost(const HarnessCostOptions& options);
support::Json to_json(const HarnessCost& cost);

} // namespace mqcore::campaign
