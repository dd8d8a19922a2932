#pragma once
// What else a table of keys gives: the JSON Schema by which an editor checks and completes a file,
// the tables of a reference page, and the list on a terminal.

#include "support/json.hpp"
#include "support/schema.hpp"

#include <string>

namespace mqcore::support {

// Draft 2020-12. Says what the rows say; what depends on several files or on arithmetic is left to
// the checks.
JsonObject json_schema_of(const Schema& schema);
// A heading and a table of keys for each table of the file.
std::string markdown_of(const Schema& schema);
// The same for a terminal, 100 columns wide.
std::string terminal_text_of(const Schema& schema);

} // namespace mqcore::support
