#pragma once
// A campaign's cells for programs: what the terminal's table shows, and everything behind it.

#include "verdict/cell.hpp"

#include <span>

namespace mqcore::report {

// {"format": "mqcore-cells/1", "campaign", "comparable", "not_comparable_because", "standing", "confidence",
//  "resamples", "cells": [{"client", "point", "status", "runs", "valid_runs", "rank": [best, worst]|null,
//  "control_of", "regime", "flags", "metrics": {id: {"value", "unit", "interval": [low, high]|null, "runs"}}}]}
support::Json campaign_json(const support::Json& manifest, const support::Json& standing,
                            std::span<const verdict::Cell> cells);

} // namespace mqcore::report
