#pragma once
// What people and editors read about scenario files, made from the key table, the profiles and
// missing_capabilities(): docs/scenario.schema.json, docs/scenario-reference.md and
// `mqcore validate --keys`. A test compares the committed copies with these.

#include "support/json.hpp"

#include <string>

namespace mqcore::scenario {

support::JsonObject scenario_json_schema(); // JSON Schema, draft 2020-12
std::string scenario_reference_markdown();  // the whole page
std::string scenario_keys();                // for a terminal

} // namespace mqcore::scenario
