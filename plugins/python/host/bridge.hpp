#pragma once
// What python-host.so and the extension module _mqcore agree on. python-host.so links no Python at
// all, so that the core can load it before it is known which interpreter a run wants; it opens the
// environment's libpython and then the extension, which is compiled once against the limited API.
// Both are built together, so this table carries no version.

#include "mqcore/driver.h"

#include <cstdint>

namespace mqcore::python {

struct Environment {
    const char* venv;          // its folder
    const char* host_folder;   // holds lib/mqcore, the Python half of the host
    const char* driver_folder; // holds driver.py
    const char* shape;         // "sync", "nowait", "awaited"
};

// The driver functions of driver.h, on the main thread. create() starts the interpreter the first time.
struct Bridge {
    std::int32_t (*create)(const mqcore_host* host, const Environment* environment, void** self);
    std::int32_t (*connect)(void* self, const mqcore_run* run);
    std::int32_t (*drive)(void* self, mqcore_source* source, mqcore_sink* sink);
    std::int32_t (*disconnect)(void* self);
    void (*destroy)(void* self);
};

constexpr const char* kBridgeSymbol = "mqcore_python_bridge"; // const Bridge*()

} // namespace mqcore::python
