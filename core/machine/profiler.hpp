#pragma once
// Profilers that can be attached to a client for one run: a table of what each is, how to tell that it is
// there, how it is attached and what it leaves. Commands hold places that are filled in when they are used:
// {pid} of the client's process, {folder} where the files go, {environment} of the client's language.

#include "support/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mqcore::machine {

using Command = std::vector<std::string>; // the program, looked up in PATH, and its arguments

// A function and its share of what was counted, 0 to 1. Self: itself; total: with all that it called.
struct Hotspot {
    std::string
        function; // "PyDict_Next (libpython3.11.so.1.0)", "Client.publish (paho/mqtt/client.py)"
    double self = 0, total = 0;
};

struct Hotspots {
    std::uint64_t count = 0;        // of samples, or of instructions
    std::vector<Hotspot> functions; // most of its own first
};

// A file that a profiler leaves, or that is made of it.
struct ProfileFile {
    const char* name;
    const char* holds;
    const char* how_to_open; // {file} is its path
    Command command = {};    // prints it; empty: the profiler itself wrote it
    std::string (*convert)(std::string_view printed) = nullptr; // of what the command prints
};

struct Profiler {
    const char* name;
    const char* shows; // for people: what is counted, of what
    const char* host;  // the language host whose clients it reads; empty: of every client
    const char* how_to_get;
    Command present;   // ends with 0 where the profiler is there, and prints its version
    Command permitted; // ends with 0 where the system lets it look; empty: it shows in the run
    const char* how_to_permit;
    Command around;         // starts the client's process; empty: it is started as ever
    Command begin;          // started when the window starts
    Command end;            // started when it ends; empty: what `begin` started gets SIGINT then
    std::uint32_t slowdown; // the client is given so many times as long to connect and to leave
    const char* counted;    // "samples", "instructions"
    std::vector<ProfileFile> files;
    const char* hottest_in; // one of the files, and how it is read
    Hotspots (*hottest)(std::string_view file);
};

// In the order in which one is chosen when none is named.
std::span<const Profiler> profilers();
// An unknown name is an Error with the nearest one.
support::Result<const Profiler*> profiler_named(std::string_view name);

// The version of one that is here and may look. An Error that says how to get it, or how to permit it.
support::Result<std::string> version_of(const Profiler& profiler, const std::string& environment);

struct Filling {
    std::string_view place, value; // "pid", "4711"
};
std::string filled(std::string text, std::span<const Filling> fillings);
Command filled(Command command, std::span<const Filling> fillings);

// Folded stacks: "outer;inner;innermost 12" a line. Line numbers of a place ("client.py:12") are left out,
// so that a function counts once.
Hotspots hottest_of_folded(std::string_view folded);
// What `callgrind_annotate --inclusive=no` prints; totals are not in it and stay 0.
Hotspots hottest_of_annotated(std::string_view annotated);
// What `perf script` prints, as folded stacks.
std::string fold_perf_script(std::string_view script);

} // namespace mqcore::machine
