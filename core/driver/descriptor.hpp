#pragma once
// A driver as planning and listing see it: its driver.toml, read without loading any foreign code. As
// a client it may be one of its variants, and have another release of its library (client_reference.hpp).
// The claims are the ones of mqcore_info and are compared with it when a worker loads the library.

#include "mqcore/driver.h"
#include "support/json.hpp"
#include "support/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace mqcore::driver {

using Options = std::vector<std::pair<std::string, std::string>>; // key, value as text

struct Claims {
    std::uint32_t shape = 0;           // MQCORE_SHAPE_*
    std::uint32_t protocols = 0;       // MQCORE_V311 | MQCORE_V5
    std::uint32_t publish_qos = 0;     // MQCORE_QOS*
    std::uint32_t subscribe_qos = 0;   // MQCORE_QOS*
    std::uint32_t features = 0;        // MQCORE_FEATURE_*
    std::uint32_t max_window = 0;      // 0: no limit
    std::uint32_t qos0_completion = 0; // MQCORE_QOS0_*, 0: not said

    bool operator==(const Claims&) const = default;
};

// [variant.NAME] of a driver.toml: driver options under a name, which make a client of their own.
struct Variant {
    std::string name = {};    // [a-z0-9-]+
    std::string summary = {}; // one line: what it is
    Options options = {};

    bool operator==(const Variant&) const = default;
};

// The release of its package that a client is measured with. Both empty: the one that its folder locks.
struct PackageChoice {
    std::string version = {};            // "2.1.0"
    std::filesystem::path checkout = {}; // absolute folder of a working copy that is built

    bool is_locked() const { return version.empty() && checkout.empty(); }
    bool operator==(const PackageChoice&) const = default;
};

struct Descriptor {
    std::string id = {};               // of the client: the driver's, or "paho:thread@2.1.0"
    std::string driver_id = {};        // [a-z0-9-]+, as in driver.toml
    std::string library = {};          // the client library's own name
    std::string summary = {};          // one line: what it is
    std::string abi = {};              // "1.0": the ABI that the library was built for
    std::string library_version = {};  // as its build found it; empty: not said
    std::string package = {};          // of a language environment, e.g. "paho-mqtt"; may be empty
    std::filesystem::path folder = {}; // holds driver.toml
    std::filesystem::path library_file = {}; // the .so to load: its own `file`, or that of its host
    std::string host = {};                  // id of the host that serves it ("python"); empty: none
    std::filesystem::path host_folder = {}; // holds host.toml; empty: none
    bool is_harness_floor = false;          // a null client: measures mqcore itself, not a library
    Claims claims = {};
    std::vector<Variant> variants = {}; // that driver.toml declares
    Variant variant = {};               // the one that this client is; without a name: none
    PackageChoice choice = {};
};

// A library that serves drivers without one of their own, such as an interpreter: its host.toml.
struct Host {
    std::string id = {};                       // [a-z0-9-]+
    std::filesystem::path folder = {};         // holds host.toml
    std::filesystem::path library_file = {};   // the .so to load
    std::vector<std::string> environment = {}; // complete command of its tool; empty: none
};

std::string_view name_of_shape(std::uint32_t shape); // "sync", "nowait", "awaited"
std::string_view
name_of_qos0_completion(std::uint32_t completion); // "handed over", "written", "drained"
std::vector<std::string> names_of_features(std::uint32_t features); // as in driver.toml: "tls", ...
std::vector<std::string> names_of_protocols(std::uint32_t protocols); // "3.1.1", "5"

// Where a loaded library's mqcore_info, {"id", "library", "shape", "protocols", …}, differs from its
// driver.toml, in one line; empty: they say the same. Features that this mqcore does not know are left out.
std::string difference(const Descriptor& descriptor, const support::Json& info);

} // namespace mqcore::driver
