#include "session/child.hpp"

#include "session/spawn.hpp"
#include "support/file.hpp"
#include "support/text.hpp"
#include "support/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <asio.hpp>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace mqcore::session {
namespace {

using support::Error;
using support::ErrorCode;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;
using support::UniqueFd;

// A driver whose connection breaks says so before the kernel says that the broker died. So long is
// waited for the cause behind the first sign.
constexpr Nanoseconds kRootCauseGrace = 150 * kMillisecond;
// A party that is awaited and stays stopped (SIGSTOP, a debugger) for so long will not come back.
constexpr Nanoseconds kStoppedLimit = 3 * kSecond;
constexpr Nanoseconds kStoppedCheck = 250 * kMillisecond;
// A line of the control channel; reports with full histograms stay far below.
constexpr std::size_t kLongestLine = 64u << 20;

// What a child gets of our environment. Nothing that steers a client library or an interpreter
// (PYTHON*, SSL_*, LD_PRELOAD): a run must not depend on the shell it was started from.
constexpr const char* kPassedOn[] = {
    "PATH",   "HOME",         "LANG",          "LC_ALL",       "LD_LIBRARY_PATH",
    "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"};

std::vector<std::string> environment_of(const ChildPlan& plan) {
    std::vector<std::string> environment;
    for (const char* name : kPassedOn)
        if (const char* value = std::getenv(name))
            environment.push_back(fmt::format("{}={}", name, value));
    for (const auto& [name, value] : plan.environment)
        environment.push_back(fmt::format("{}={}", name, value));
    return environment;
}

// The letter of the process state in /proc/PID/stat; '?' when it cannot be read.
char state_letter(pid_t pid) {
    const auto text = support::read_file(fmt::format("/proc/{}/stat", pid));
    const std::size_t close = text ? text->rfind(')') : std::string::npos;
    return close != std::string::npos && close + 2 < text->size() ? (*text)[close + 2] : '?';
}

bool is_stopped(pid_t pid) {
    const char letter = state_letter(pid);
    return letter == 'T' || letter == 't';
}

asio::steady_timer::time_point time_point_of(Nanoseconds instant) {
    return asio::steady_timer::time_point(std::chrono::nanoseconds(instant));
}

std::string seconds_text(Nanoseconds length) {
    return fmt::format("{:.1f} s", static_cast<double>(length) / static_cast<double>(kSecond));
}

} // namespace

// ------------------------------------------------------------------------------------ the states

struct Supervisor::State {
    asio::io_context io{1};
    asio::signal_set signals{io};
    asio::steady_timer timer{io};
    std::string phase = "start";
    bool is_interrupted = false;
    std::vector<Child::State*> children;

    void run_one_until(Nanoseconds instant);
    void run_ready() {
        io.restart();
        io.poll();
    }
    // The most telling failure there is now; nothing: all is well.
    std::optional<Failure> find_failure();
    std::optional<Failure> settle(Failure first);
};

struct Child::State : std::enable_shared_from_this<Child::State> {
    explicit State(std::shared_ptr<Supervisor::State> owner)
        : supervisor(std::move(owner)), process(supervisor->io), control(supervisor->io) {}

    std::shared_ptr<Supervisor::State> supervisor;
    std::string name, party;
    pid_t pid = 0;
    asio::posix::stream_descriptor process; // its pidfd: readable when it has ended
    asio::local::stream_protocol::socket control;
    std::array<char, 65536> block{};
    std::string received;
    std::deque<Json> events;
    std::string garbage; // what it said that was no event
    std::deque<std::string> to_send;
    bool has_control = false;
    bool has_ended = false;
    bool is_end_expected = false;
    bool is_interrupted = false; // it was sent SIGINT
    siginfo_t end{};

    void watch_end();
    void read_more();
    void write_more();
    void take_lines();
    void drain_control();
    void reap();
    const Json* failed_event() const; // null: it did not say so
    std::optional<Failure> failure() const;
    std::string how_it_ended() const;
};

void Child::State::watch_end() {
    process.async_wait(asio::posix::stream_descriptor::wait_read,
                       [self = shared_from_this()](const asio::error_code& error) {
                           if (!error)
                               self->reap();
                       });
}

void Child::State::read_more() {
    control.async_read_some(
        asio::buffer(block),
        [self = shared_from_this()](const asio::error_code& error, std::size_t got) {
            if (error) // closed by the child; its end follows, or the next answer is missed
                return;
            self->received.append(self->block.data(), got);
            self->take_lines();
            if (self->garbage.empty())
                self->read_more();
        });
}

void Child::State::take_lines() {
    std::size_t start = 0;
    for (;;) {
        const std::size_t newline = received.find('\n', start);
        if (newline == std::string::npos)
            break;
        const std::string_view line = std::string_view(received).substr(start, newline - start);
        auto document = support::parse_json(line, "control channel");
        constexpr std::size_t kShown = 80;
        if (!document || !support::find(*document, "event")) {
            garbage = fmt::format("said '{}', which is no event", line.substr(0, kShown));
            break;
        }
        events.push_back(std::move(*document));
        start = newline + 1;
    }
    received.erase(0, start);
    if (received.size() > kLongestLine)
        garbage = "sent an endless line";
}

void Child::State::write_more() {
    asio::async_write(control, asio::buffer(to_send.front()),
                      [self = shared_from_this()](const asio::error_code& error, std::size_t) {
                          if (error)
                              return;
                          self->to_send.pop_front();
                          if (!self->to_send.empty())
                              self->write_more();
                      });
}

// What a child said just before it ended ("failed": ...) explains the end, so it is read first.
void Child::State::drain_control() {
    if (!has_control || !control.is_open())
        return;
    for (;;) {
        const ssize_t got =
            ::recv(control.native_handle(), block.data(), block.size(), MSG_DONTWAIT);
        if (got <= 0)
            break;
        received.append(block.data(), static_cast<std::size_t>(got));
    }
    take_lines();
}

void Child::State::reap() {
    if (has_ended)
        return;
    // While the leader is not reaped its process group cannot be anybody else's: whatever it left
    // running goes with it.
    ::kill(-pid, SIGKILL);
    while (::waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED) != 0 && errno == EINTR) {
    }
    has_ended = true;
    drain_control();
    spdlog::debug("{} (process {}) ended: {}", name, pid, how_it_ended());
}

std::string Child::State::how_it_ended() const {
    if (!has_ended)
        return {};
    if (end.si_code == CLD_EXITED)
        return fmt::format("exit code {}", end.si_status);
    const char* signal_name = ::sigabbrev_np(end.si_status);
    return fmt::format("signal {} (SIG{})", end.si_status, signal_name ? signal_name : "?");
}

const Json* Child::State::failed_event() const {
    const auto found = std::ranges::find_if(
        events, [](const Json& event) { return support::text_or(event, "event", "") == "failed"; });
    return found == events.end() ? nullptr : &*found;
}

std::optional<Failure> Child::State::failure() const {
    if (const Json* event = failed_event())
        return Failure{.party = party,
                       .phase = support::text_or(*event, "phase", supervisor->phase),
                       .status = support::text_or(*event, "status", "failed"),
                       .reason = support::text_or(*event, "reason", "it did not say why")};
    if (!garbage.empty())
        return Failure{party, supervisor->phase, "garbage",
                       fmt::format("the {} {}", name, garbage)};
    const bool ended_well =
        end.si_code == CLD_EXITED ? end.si_status == 0 : is_interrupted && end.si_status == SIGINT;
    if (has_ended && !(is_end_expected && ended_well))
        return Failure{.party = party,
                       .phase = supervisor->phase,
                       .status = end.si_code == CLD_EXITED ? "ended" : "killed",
                       .reason = fmt::format("the {} ended with {}", name, how_it_ended())};
    return std::nullopt;
}

void Supervisor::State::run_one_until(Nanoseconds instant) {
    // A timer and not run_one_until(): that one sleeps in whole milliseconds.
    timer.expires_at(time_point_of(instant));
    timer.async_wait([](const asio::error_code&) {});
    io.restart();
    io.run_one();
    timer.cancel();
}

std::optional<Failure> Supervisor::State::find_failure() {
    if (is_interrupted)
        return Failure{"user", phase, "interrupted", "interrupted by a signal"};
    std::optional<Failure> found;
    for (const Child::State* child : children) {
        auto failure = child->failure();
        if (failure && failure->party == "broker")
            return failure; // the cause of what the others report
        if (failure && !found)
            found = std::move(failure);
    }
    return found;
}

std::optional<Failure> Supervisor::State::settle(Failure first) {
    if (first.party == "broker" || first.party == "user")
        return first;
    const Nanoseconds until = now_ns() + kRootCauseGrace;
    while (now_ns() < until) {
        run_one_until(until);
        if (auto now = find_failure(); now && now->party != first.party)
            return now;
    }
    return first;
}

// ------------------------------------------------------------------------------------ Child

Child::Child(std::shared_ptr<State> state) : state_(std::move(state)) {}

Child::~Child() {
    end();
    std::erase(state_->supervisor->children, state_.get());
    asio::error_code ignored;
    state_->process.close(ignored);
    state_->control.close(ignored);
    state_->supervisor->run_ready(); // the cancelled operations let go of the state
}

pid_t Child::pid() const { return state_->pid; }
const std::string& Child::name() const { return state_->name; }
bool Child::is_running() const { return !state_->has_ended; }
std::string Child::how_it_ended() const { return state_->how_it_ended(); }
void Child::expect_end() { state_->is_end_expected = true; }

void Child::tell(const Json& document) {
    if (!state_->has_control || state_->has_ended)
        return;
    state_->to_send.push_back(support::print_json(document) + "\n");
    if (state_->to_send.size() == 1)
        state_->write_more();
    state_->supervisor->run_ready();
}

void Child::interrupt() {
    expect_end();
    state_->is_interrupted = true;
    state_->supervisor->run_ready();
    if (!state_->has_ended)
        ::kill(state_->pid, SIGINT);
}

void Child::end(Nanoseconds grace_ns) {
    expect_end();
    State& state = *state_;
    const auto wait = [&](Nanoseconds until) {
        while (!state.has_ended && now_ns() < until)
            state.supervisor->run_one_until(until);
    };
    state.supervisor->run_ready();
    if (!state.has_ended && grace_ns > 0 && !is_stopped(state.pid)) {
        ::kill(state.pid, SIGTERM);
        wait(now_ns() + grace_ns);
    }
    if (!state.has_ended) {
        ::kill(state.pid, SIGKILL); // works on a stopped process as well
        state.reap();
    }
}

// ------------------------------------------------------------------------------------ Supervisor

Supervisor::Supervisor() : state_(std::make_shared<State>()) {
    asio::error_code ignored;
    state_->signals.add(SIGINT, ignored);
    state_->signals.add(SIGTERM, ignored);
    state_->signals.async_wait([state = state_.get()](const asio::error_code& error, int) {
        if (error)
            return;
        state->is_interrupted = true;
        asio::error_code unused;
        state->signals.clear(unused); // back to the default: a second one ends mqcore
    });
}

Supervisor::~Supervisor() {
    asio::error_code ignored;
    state_->signals.clear(ignored);
    state_->run_ready();
}

support::Result<std::unique_ptr<Child>> Supervisor::start(const ChildPlan& plan) {
    const UniqueFd log(
        ::open(plan.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!log)
        return Error{ErrorCode::host,
                     fmt::format("cannot open the log '{}': {}", plan.log_file.string(),
                                 std::strerror(errno)),
                     {}};
    int ends[2] = {-1, -1};
    if (plan.has_control_channel && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return Error{ErrorCode::host,
                     fmt::format("cannot make a control channel: {}", std::strerror(errno)),
                     {}};
    UniqueFd ours(ends[0]);
    const UniqueFd theirs(ends[1]);
    const auto pid = spawn({.program = plan.program.string(),
                            .arguments = plan.arguments,
                            .environment = environment_of(plan),
                            .cpus = plan.cpus,
                            .output_descriptor = log.get(),
                            .control_descriptor = theirs.get(),
                            .page_descriptor = plan.page_descriptor,
                            .is_traceable = plan.is_traceable});
    if (!pid)
        return pid.error();

    auto state = std::make_shared<Child::State>(state_);
    state->name = plan.name;
    state->party = plan.party;
    state->pid = *pid;
    auto child = std::unique_ptr<Child>(new Child(state));
    state_->children.push_back(state.get());
    const int process = static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0));
    if (process < 0)
        return Error{ErrorCode::host, fmt::format("pidfd_open: {}", std::strerror(errno)),
                     "mqcore needs Linux 5.3 or newer"};
    state->process.assign(process);
    state->watch_end();
    if (plan.has_control_channel) {
        state->control.assign(asio::local::stream_protocol(), ours.release());
        state->has_control = true;
        state->read_more();
    }
    spdlog::debug("started {} as process {}", plan.name, *pid);
    return child;
}

void Supervisor::set_phase(std::string phase) { state_->phase = std::move(phase); }

std::optional<Json> Supervisor::failed_event(const Child& child) const {
    const Json* event = child.state_->failed_event();
    return event ? std::optional(*event) : std::nullopt;
}

bool Supervisor::is_interrupted() {
    state_->run_ready();
    return state_->is_interrupted;
}

std::optional<Json> Supervisor::poll(Child& child, std::string_view event) {
    state_->run_ready();
    std::deque<Json>& events = child.state_->events;
    if (events.empty() || support::text_or(events.front(), "event", "") != event)
        return std::nullopt;
    Json found = std::move(events.front());
    events.pop_front();
    return found;
}

Reply Supervisor::expect(Child& child, std::string_view event, Nanoseconds deadline_ns) {
    const Nanoseconds begin = now_ns();
    Nanoseconds stopped_since = 0;
    const auto missed = [&](const char* status, std::string reason) {
        return Reply{.event = {},
                     .failure =
                         Failure{child.state_->party, state_->phase, status, std::move(reason)}};
    };
    for (;;) {
        if (auto found = poll(child, event))
            return {.event = std::move(*found), .failure = {}};
        if (auto failure = state_->find_failure())
            return {.event = {}, .failure = state_->settle(std::move(*failure))};
        const std::string& name = child.name();
        if (const auto& events = child.state_->events; !events.empty())
            return missed("garbage",
                          fmt::format("the {} said '{}' where '{}' was due", name,
                                      support::text_or(events.front(), "event", ""), event));
        if (child.state_->has_ended)
            return missed("ended", fmt::format("the {} ended without '{}'", name, event));
        const Nanoseconds now = now_ns();
        const bool stopped = is_stopped(child.pid());
        stopped_since = !stopped ? 0 : stopped_since ? stopped_since : now;
        if (stopped && (now >= deadline_ns || now - stopped_since >= kStoppedLimit))
            return missed("stopped", fmt::format("the {} is stopped (SIGSTOP or a debugger) and "
                                                 "did not say '{}'",
                                                 name, event));
        if (now >= deadline_ns)
            return missed("deadline", fmt::format("the {} did not say '{}' within {}", name, event,
                                                  seconds_text(deadline_ns - begin)));
        state_->run_one_until(std::min(deadline_ns, now + kStoppedCheck));
    }
}

Reply Supervisor::ask(Child& child, const Json& document, std::string_view event,
                      Nanoseconds deadline_ns) {
    child.tell(document);
    return expect(child, event, deadline_ns);
}

std::optional<Failure> Supervisor::wait_until(Nanoseconds instant) {
    for (;;) {
        state_->run_ready();
        if (auto failure = state_->find_failure())
            return state_->settle(std::move(*failure));
        if (now_ns() >= instant)
            return std::nullopt;
        state_->run_one_until(instant);
    }
}

bool Supervisor::wait_for_end(Child& child, Nanoseconds deadline_ns) {
    state_->run_ready();
    while (!child.state_->has_ended && now_ns() < deadline_ns)
        state_->run_one_until(deadline_ns);
    return child.state_->has_ended;
}

// ------------------------------------------------------------------------------------ logs

std::string log_tail(const std::filesystem::path& file, std::size_t lines) {
    constexpr std::size_t kMostBytes = 8192;
    auto content = support::read_file(file);
    if (!content)
        return {};
    std::string text = content->size() > kMostBytes ? content->substr(content->size() - kMostBytes)
                                                    : std::move(*content);
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    std::size_t start = text.size();
    for (std::size_t line = 0; line < lines && start != 0; ++line) {
        const std::size_t end = start == text.size() ? start : start - 1;
        const std::size_t before = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
        start = before == std::string::npos ? 0 : before + 1;
    }
    text.erase(0, start);
    return without_personal_paths(std::move(text));
}

std::string without_personal_paths(std::string text) {
    std::error_code ignored;
    const char* home = std::getenv("HOME");
    const std::pair<std::string, std::string_view> places[] = {
        {std::filesystem::temp_directory_path(ignored).string() + "/", "…/"},
        {home ? home : "", "~"}};
    for (const auto& [place, by] : places)
        if (place.size() > 1) // "/" is everywhere
            text = support::replace_all(std::move(text), place, by);
    return text;
}

} // namespace mqcore::session
