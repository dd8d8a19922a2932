// driver.h alone, as a driver in C++ includes it without driver.hpp.
#include "mqcore/driver.h"

namespace {

int32_t create(const mqcore_host* host, void** self) {
    host->note(host, "library.version", "1");
    *self = nullptr;
    return MQCORE_OK;
}

mqcore_driver make_table() {
    mqcore_driver table{};
    table.magic = MQCORE_MAGIC;
    table.size = sizeof(mqcore_driver);
    table.create = create;
    return table;
}

const mqcore_driver kDriver = make_table();

} // namespace

const mqcore_driver* mqcore_driver_entry(const char*) {
    return MQCORE_HAS(&kDriver, mqcore_driver, extension) ? &kDriver : nullptr;
}
