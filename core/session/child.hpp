#pragma once
// Long-lived child processes and the one place that waits for them. A session is sequential: it
// tells a child something and waits for the answer; while it waits, the end of any child, a
// driver's own report of failure and Ctrl-C wake it as well. Everything happens in the calling
// thread, which must outlive the children (Linux ties "die with your parent" to the thread that
// started them).

#include "support/clock.hpp"
#include "support/json.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace mqcore::session {

using support::Json;
using support::Nanoseconds;

// Why a run ended early. The words are those of the run document.
struct Failure {
    std::string party; // "client", "peer", "broker", "host", "harness", "user"
    std::string phase; // what was going on: "prepare", "connect", "warmup", "window", "drain", ...
    std::string
        status; // "ended", "killed", "stopped", "deadline", "garbage", "failed", "interrupted",
                // or the status word that the driver gave
    std::string reason; // one line for people
};

// The awaited event, or why it will not come.
struct Reply {
    Json event;
    std::optional<Failure> failure;

    explicit operator bool() const { return !failure; }
};

struct ChildPlan {
    std::string name;  // for messages: "client", "peer", "broker", "probe"
    std::string party; // who is to blame when it ends: Failure::party
    std::filesystem::path program;
    std::vector<std::string> arguments;
    std::vector<int> cpus; // pinned to them before its first instruction; empty: not pinned
    std::filesystem::path log_file; // stdout and stderr, appended
    bool has_control_channel = true;
    int page_descriptor = -1;                                     // becomes descriptor 4
    bool is_traceable = false;                                    // a profiler beside it may attach
    std::vector<std::pair<std::string, std::string>> environment; // besides the minimal one
};

class Supervisor;

// One running or ended process. Its destructor ends it and takes its exit status: no zombie stays.
class Child {
  public:
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    pid_t pid() const;
    const std::string& name() const;
    bool is_running() const;
    // "exit code 3", "signal 9 (Killed)"; empty while it runs.
    std::string how_it_ended() const;

    // Sends a document; a child that is gone shows at the next wait.
    void tell(const Json& document);
    // From here on an end with exit code 0 is what is wanted, not a failure.
    void expect_end();
    // SIGINT: it does what it does when a user presses Ctrl-C, and its end by that is no failure either.
    void interrupt();
    // SIGTERM (skipped for a stopped process, which could not act on it), SIGKILL after the grace;
    // returns when it is reaped.
    void end(Nanoseconds grace_ns = 0);

  private:
    friend class Supervisor;
    struct State;
    explicit Child(std::shared_ptr<State> state);
    std::shared_ptr<State> state_; // owners: this object and the supervisor's pending reads
};

class Supervisor {
  public:
    // Takes over SIGINT and SIGTERM for as long as it lives; the second one ends mqcore at once.
    Supervisor();
    ~Supervisor();
    Supervisor(const Supervisor&) = delete;
    Supervisor& operator=(const Supervisor&) = delete;

    support::Result<std::unique_ptr<Child>> start(const ChildPlan& plan);

    // Words for `Failure::phase` from here on.
    void set_phase(std::string phase);
    // The document in which the child said that it failed, with all that it told.
    std::optional<Json> failed_event(const Child& child) const;
    // True once SIGINT or SIGTERM arrived.
    bool is_interrupted();

    // The child's next event, which must be `event`. Fails when the deadline passes, when this or
    // any other watched child ends or says that it failed, when the child has been stopped for a
    // while, and on an interrupt.
    Reply expect(Child& child, std::string_view event, Nanoseconds deadline_ns);
    // tell() and expect().
    Reply ask(Child& child, const Json& document, std::string_view event, Nanoseconds deadline_ns);
    // The event when it is already there; never waits.
    std::optional<Json> poll(Child& child, std::string_view event);
    // Sleeps until the instant; a failure meanwhile wakes it.
    std::optional<Failure> wait_until(Nanoseconds instant);
    // Until the child has ended, at most until the deadline; false: it has not.
    bool wait_for_end(Child& child, Nanoseconds deadline_ns);

  private:
    friend class Child;
    struct State;
    std::shared_ptr<State> state_; // owners: this object and each child, which may outlive it
};

// A result file names no person and no place of this machine: home and temporary folders become "~" and
// "…".
std::string without_personal_paths(std::string text);

// The last lines of a log, at most `lines` and 8 KiB, without personal paths.
std::string log_tail(const std::filesystem::path& file, std::size_t lines = 20);

} // namespace mqcore::session
