#pragma once
// A run with a profiler attached to its client: what the session is told, and what is made of the files
// that the profiler left. Such a campaign has one client, one point and one run, and says of itself that
// its numbers are no measurement.

#include "campaign/store.hpp"
#include "machine/profiler.hpp"
#include "session/session.hpp"

#include <filesystem>
#include <string>

namespace mqcore::campaign {

struct Profiling {
    const machine::Profiler* profiler = nullptr;
    std::string version;     // as the profiler says it
    std::string environment; // of the client; empty: it has none
};

// The tool that was attached in the campaign of this manifest; empty: none was, as in every measurement.
std::string profiler_of(const support::Json& manifest);

// Why no such run compares with any other.
std::string why_not_comparable(const Profiling& profiling);

// The manifest's `profiler` as long as nothing is known of its files.
support::JsonObject to_json(const Profiling& profiling);

// Makes the folder. An Error when it cannot, or when a program of the profiler is not there.
support::Result<session::Attachment> attachment(const Profiling& profiling,
                                                const std::filesystem::path& folder);

// Makes the readable files of what the profiler left in `folder`, and tells which files there are and which
// functions are hottest: members of the manifest's `profiler`. An Error when the profiler left nothing, or
// nothing can be made of it.
support::Result<support::JsonObject> collect_profile(const Profiling& profiling,
                                                     const std::filesystem::path& folder);

} // namespace mqcore::campaign
