#pragma once
// A part of a campaign: some points, some clients. What is left out is gone from the manifest, too, so
// that nothing calls it "not run".

#include "support/json.hpp"
#include "verdict/cell.hpp"

#include <string>
#include <vector>

namespace mqcore::report {

struct Selection {
    std::vector<std::string> points, clients; // ids; none: all
};

// An id that the campaign does not have is an Error with the nearest one.
support::Result<void> select(support::Json& manifest, const Selection& selection);

// Whether the manifest, or what select() left of it, has both.
bool has_pair(const support::Json& manifest, std::string_view client, std::string_view point);

} // namespace mqcore::report
