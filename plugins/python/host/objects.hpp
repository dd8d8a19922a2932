#pragma once
// The Python types that stand between a client and the core: Source, Sink and Message. Every method
// is a builtin that Python calls; the core never calls Python for a message. The GIL is held
// throughout, except while waiting. Limited API of CPython 3.11 only.

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "mqcore/driver.h"

#include <cstdint>

namespace mqcore::python {

// Adds the types and constants to the module _mqcore. False with a Python error set.
bool add_objects(PyObject* module);

// A new Source (window, topics) and Sink for one connection. Null with a Python error set.
PyObject* new_source(const mqcore_run& run);
PyObject* new_sink(PyObject* source);

// Between attach and detach the pair talks to the core. Without a core, a source says STOP and a sink
// drops what it is told: before drive() nothing is sent, after disconnect() nothing may be counted.
// attach returns how many arrivals were dropped so far.
std::uint32_t attach(PyObject* source, PyObject* sink, mqcore_source* core_source,
                     mqcore_sink* core_sink);
void detach(PyObject* source, PyObject* sink);

// Ends the drive: every further next() says STOP, and a loop that sleeps is woken. [main-thread]
void interrupt(PyObject* source);

} // namespace mqcore::python
