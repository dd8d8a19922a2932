#pragma once
// Loads one driver's shared library into this process and checks its table. Workers only: loading
// runs foreign code. A loaded driver is never unloaded: libraries start threads and interpreters that
// do not survive it, and the worker process ends with the run anyway.

#include "driver/descriptor.hpp"
#include "mqcore/driver.h"
#include "support/json.hpp"
#include "support/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace mqcore::driver {

// Sizes of the structs in ABI 1.0: no driver's struct may be shorter, whatever this core was built with.
// What was added later is there only where MQCORE_HAS says so.
inline constexpr std::size_t kTableBytes = offsetof(mqcore_driver, extension) + sizeof(void*);
inline constexpr std::size_t kInfoBytes =
    offsetof(mqcore_info, qos0_completion) + sizeof(std::uint32_t);

struct LoadedDriver {
    const mqcore_driver* table = nullptr; // constant data of the driver
    std::string id;
    std::string library;
    Claims claims;
};

// Loads with RTLD_NOW (a missing symbol is an error here, not a crash in the window) and RTLD_LOCAL
// (two drivers' libraries never meet). Every refusal names the file, what was expected, what was found.
support::Result<LoadedDriver> load_driver(const std::filesystem::path& file,
                                          const std::filesystem::path& folder);

// Checks a table that is in memory already. `origin` names it in errors. Reads no field that the
// table's size says is not there.
support::Result<LoadedDriver> check_table(const mqcore_driver* table, const std::string& origin);

// Facts about a driver's library without any judgement, for the conformance checker. Nothing is read
// that the table does not say is there: a missing part is null.
// listed_ns is what opening and the entry took, threads_started how many more threads there are since.
//   {"loads", "loader_text", "exports_entry", "is_same_table", "listed_ns", "threads_started",
//    "table": {"magic","size","abi_major","abi_minor","needs_host_minor","missing":["drive",...]},
//    "info": {"size","id","library","shape","protocols","publish_qos","subscribe_qos","features",
//             "max_window","qos0_completion"}}
support::Json inspect_driver(const std::filesystem::path& file,
                             const std::filesystem::path& folder);

// {"id","library","abi","shape","protocols","publish_qos","subscribe_qos","features","max_window",
//  "qos0_completion"}: what the worker tells the orchestrator, which compares it with driver.toml.
support::Json to_json(const LoadedDriver& driver);

} // namespace mqcore::driver
