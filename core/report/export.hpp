#pragma once
// A campaign in the forms that other programs read: CSV, OpenMetrics, the JSON of continuous-benchmark
// services, HdrHistogram's percentile text. docs/results.md shows each with a command. Pure functions.

#include "verdict/cell.hpp"

#include <span>
#include <string>

namespace mqcore::report {

// One row a cell, and one a run (RFC 4180, a header line, an empty field for null). Runs come cell by
// cell, so their header is a function of its own.
std::string cells_csv(const support::Json& manifest, std::span<const verdict::Cell> cells);
std::string runs_csv_header();
std::string runs_csv(const support::Json& manifest, std::span<const support::Json> runs);

// One row an interval of a run's series; no row for a run without series.
std::string series_csv_header();
std::string series_csv(const support::Json& manifest, std::span<const support::Json> runs);

// OpenMetrics 1.0 text in base units: seconds, bytes, ratios.
std::string openmetrics(const support::Json& manifest, std::span<const verdict::Cell> cells);

// [{name, unit, value, range, extra}] of the valid cells' metrics of one direction, because such a
// service takes one direction a file.
support::JsonArray benchmark_json(const support::Json& manifest,
                                  std::span<const verdict::Cell> cells,
                                  verdict::Direction direction);

// What HistogramLogProcessor prints, in microseconds.
std::string hdr_text(const measure::Histogram& histogram);

} // namespace mqcore::report
