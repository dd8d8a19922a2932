#pragma once
// What the rest of the machine did while runs failed. Pure.

#include "report/table.hpp"

namespace mqcore::report {

// A line and a table: each process that is no party and took a noticeable part of a core in the window of
// a run that did not become valid, and the kernel's time that no process is charged for. Empty: no run
// failed, or nothing else ran.
std::string others_behind_failures(std::span<const support::Json> runs, const TableStyle& style);

} // namespace mqcore::report
