#pragma once
// Sweeps: a point whose key holds a list, rate = [500, 2000, 5000], stands for one point for each value.
// The ids of these get the value as their end: pub_qos1_fixed_500, _2k, _5k; payload "16KiB" is _16k.
// Several such keys make every combination.

#include "support/schema.hpp"

#include <vector>

namespace mqcore::scenario {

// The points that one [[point]] table stands for: a copy without lists for each; the table itself when
// it has none. Only keys of `schema` that say so may be swept. What is wrong with a list becomes a
// finding, and then the answer is empty.
std::vector<support::TomlValue> expand_sweeps(const support::TomlValue& table,
                                              const support::SchemaTable& schema,
                                              std::string_view label,
                                              support::DiagnosticList& diagnostics);

} // namespace mqcore::scenario
