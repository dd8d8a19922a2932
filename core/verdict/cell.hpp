#pragma once
// A cell: all runs of one client on one point. Only valid runs enter its numbers: medians of the runs'
// metrics, and percentiles of their merged histograms. Reads judged run documents.

#include "verdict/series.hpp"
#include "verdict/statistics.hpp"
#include "verdict/table.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace mqcore::verdict {

struct CellMetric {
    Number value; // median of the valid runs, or of their merged histogram
    std::map<std::uint64_t, double> by_run; // of each valid run, by its number
    Count samples;                          // behind a percentile
    std::string unavailable;                // why there is no value
};

// Of the runs' median, reaching at least to the value, and never below 0. Nothing with fewer than
// kRunsForInterval values. Computed on demand: 2,000 resamples are not free.
std::optional<Interval> interval_of(const CellMetric& metric);

// The runs' own values: smallest and largest; nothing where there is none.
std::optional<Interval> range_of(const CellMetric& metric);

// One run over time.
struct RunSeries {
    std::uint64_t run = 0;
    Status status = Status::valid;
    Series series;
};

struct Cell {
    std::string client, point;
    std::string library_version; // as the client told it; empty: it did not
    support::Json spec;          // of the point, as the runs hold it
    Status status = Status::invalid;
    std::string reason, party; // of the first run that decided, when not valid
    std::size_t runs = 0;      // planned runs that have an outcome; a retry is not another run
    std::size_t valid_runs = 0;
    std::map<Status, std::size_t> by_status;  // last attempt of each run
    std::string regime;                       // of the valid runs; "differs" when they do not agree
    std::map<std::string, std::size_t> flags; // how many valid runs raised it
    std::map<std::string, std::string> flag_details; // of the first one
    std::map<std::string, CellMetric> metrics;
    std::map<std::string, measure::Histogram>
        histograms;                // of the valid runs, merged, by their name
    std::vector<RunSeries> series; // of the runs that show the client: valid and not_sustained ones
    std::vector<std::string> not_comparable_because;
};

// valid when at least one run is; else not_sustained when at least one run is, since an invalid run
// says nothing; else unsupported when at least one run is; else invalid. `runs` are documents of one client and one point.
Cell aggregate(std::span<const support::Json> runs);

// Cells of all runs of a campaign, in the order in which the pairs first appear.
std::vector<Cell> cells_of(std::span<const support::Json> runs);

} // namespace mqcore::verdict
