#pragma once
// Behind the runs that failed: who used the processors meanwhile. A run fails for the machine's sake more
// often than for anybody else's, and then this is the next question.

#include "report/table.hpp"

#include <span>
#include <string>

namespace mqcore::report {

// A few lines about all attempts that are invalid or not_sustained: the parties' processor time, other
// processes, kernel time that belongs to no process. Empty when every run is valid. Judged documents.
std::string consumers_text(std::span<const support::Json> runs, const TableStyle& style);

} // namespace mqcore::report
