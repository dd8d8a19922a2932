#pragma once
// Where checks run: the driver under test, and workers that host it for one trial each. A step of a
// trial ends in an event or in trouble; trouble says whether the driver failed, crashed or hung.

#include "conformance/check_driver.hpp"
#include "measure/control_page.hpp"
#include "measure/schedule.hpp"
#include "measure/specification.hpp"
#include "session/child.hpp"
#include "session/temp_dir.hpp"

#include <memory>
#include <optional>

namespace mqcore::conformance {

using support::Json;
using support::Nanoseconds;

// The driver under test.
struct Subject {
    std::string name; // as the caller named it
    driver::Descriptor descriptor;
    std::vector<support::Diagnostic> diagnostics; // of driver.toml
    bool has_descriptor = false;                  // false: driver.toml cannot be used
    std::string environment;                      // folder; empty: none
};

struct Trouble {
    Outcome outcome = Outcome::fail; // fail: it said so itself; crashed; timed_out
    std::string text;                // one line
    std::string phase;               // of the worker's failed event: "connecting", "driving", ...
    std::string status;              // likewise: "network", "config", "unsupported", ...
    Json said;                       // the failed event, null when there was none
};

struct Step {
    Json event;
    std::optional<Trouble> trouble;

    explicit operator bool() const { return !trouble; }
    // Of the event, or of what the worker said when it failed: {"send","receive","misuse",...} or null.
    Json report() const;
    // The breach of that rule which the worker has seen ("done-twice: ..."), or empty.
    std::string misuse(std::string_view rule) const;
};

class Bench {
  public:
    static support::Result<std::unique_ptr<Bench>> make(Subject subject,
                                                        const CheckOptions& options);

    const Subject& subject() const { return subject_; }
    const driver::Claims& claims() const { return subject_.descriptor.claims; }
    const CheckOptions& options() const { return options_; }
    session::Supervisor& supervisor() { return supervisor_; }
    const std::filesystem::path& folder() const { return folder_.path(); } // temporary
    std::filesystem::path log_file() const { return folder_.path() / "log"; }

    // A specification for this driver: everything but what to send and receive.
    measure::WorkerSpec specification(measure::Protocol protocol, std::uint16_t port) const;

    // Set where the fault is not the driver's: a program of mqcore failed, or an interrupt. Nothing
    // that was found since then counts.
    const std::optional<support::Error>& broken() const { return broken_; }
    void break_down(support::Error error);

  private:
    Bench(Subject subject, const CheckOptions& options, session::TempDir folder);

    Subject subject_;
    CheckOptions options_;
    session::TempDir folder_;
    session::Supervisor supervisor_;
    std::optional<support::Error> broken_;
};

// One worker with the driver. Its destructor ends it.
class Trial {
  public:
    explicit Trial(Bench& bench);

    Step inspect();                                // the library's table, without using it
    Step prepare(const measure::WorkerSpec& spec); // load and create()
    Step connect();
    // connect() that may fail without an end of the worker: leave() can follow.
    Step try_connect();
    // disconnect() where it is connected, then destroy() when told; the worker stays.
    Step leave(bool destroy);
    Step drive(const measure::Schedule& schedule);
    Step finish(Nanoseconds linger_ns = 0); // disconnect() and destroy(), then the process ends
    // prepare() and connect().
    Step reach_connected(const measure::WorkerSpec& spec);

  private:
    Step connect(bool goes_on);
    Step ask(const Json& order, std::string_view event, Nanoseconds limit_ns);
    Trouble trouble_of(const session::Failure& failure);

    Bench& bench_;
    std::unique_ptr<session::Child> worker_; // null: it could not be started, the bench is broken
};

// A schedule that begins now.
measure::Schedule schedule_from_now(Nanoseconds window_ns, Nanoseconds drain_ns);

} // namespace mqcore::conformance
