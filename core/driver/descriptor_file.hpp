#pragma once
// Reading driver.toml and host.toml: checked as a whole, findings with file, line and column. For
// planning and listing; a worker reads no such file (and so does not link the TOML parser).

#include "driver/descriptor.hpp"
#include "support/diagnostic.hpp"
#include "support/schema.hpp"

#include <optional>
#include <string>
#include <vector>

namespace mqcore::driver {

struct ReadDescriptor {
    std::optional<Descriptor> descriptor; // nothing when a finding is an error. A hosted driver's
                                          // library_file and host_folder are still empty
    std::string id;                       // as far as it could be read, else the folder's name
    std::vector<support::Diagnostic> diagnostics;
};

struct ReadHost {
    std::optional<Host> host; // nothing when a finding is an error
    std::string id;           // as far as it could be read, else the folder's name
    std::vector<support::Diagnostic> diagnostics;
};

// A file made for a newer minor version of the ABI may hold keys and features that this mqcore does
// not know: they become warnings and are left out. Another major version is an error.
ReadDescriptor read_descriptor(const std::filesystem::path& folder);
ReadHost read_host(const std::filesystem::path& folder);

const support::Schema& descriptor_schema(); // of driver.toml
const support::Schema& host_schema();       // of host.toml

} // namespace mqcore::driver
