#pragma once
// The one table of everything that may stand in a scenario file.

#include "support/schema.hpp"

namespace mqcore::scenario {

const support::Schema& scenario_schema();

} // namespace mqcore::scenario
