#include "session/spawn.hpp"

#include "support/unique_fd.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace mqcore::session {
namespace {

using support::Error;
using support::ErrorCode;
using support::UniqueFd;

constexpr int kChildDescriptors = 5; // 0 to 4

// All that the child needs, prepared by the parent: between vfork and exec nothing may be
// allocated.
struct Prepared {
    const char* program = nullptr;
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    pid_t parent = 0;
    bool is_pinned = false;
    bool is_traceable = false;
    cpu_set_t cpus{};
    std::array<int, kChildDescriptors> source{}; // by target; -1: closed in the child
    int report = -1;                             // errno goes here when a step fails
};

[[noreturn]] void give_up(const Prepared& prepared) {
    const int number = errno;
    (void)!::write(prepared.report, &number, sizeof number);
    ::_exit(127);
}

// Runs in the child, on the parent's memory, with all signals blocked: system calls only.
[[noreturn]] void become(const Prepared& prepared) {
    // No terminal, no process group of the parent: Ctrl-C reaches mqcore alone, which ends the
    // child.
    ::setsid();
    // No orphan when mqcore is killed. The signal comes when the *thread* that called spawn() ends.
    // It survives exec, but not a change of user, which is why the broker is told to stay who it
    // is.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        give_up(prepared);
    if (::getppid() != prepared.parent) // it died before the line above
        ::_exit(127);
    if (prepared.is_pinned && ::sched_setaffinity(0, sizeof prepared.cpus, &prepared.cpus) != 0)
        give_up(prepared);
    // Where the Yama module lets only ancestors attach, a profiler beside the child needs its leave. Without
    // the module this fails, and nothing is needed.
    if (prepared.is_traceable)
        ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (int target = 0; target < kChildDescriptors; ++target) {
        const int source = prepared.source[static_cast<std::size_t>(target)];
        if (source < 0)
            ::close(target);
        else if (::dup2(source, target) < 0)
            give_up(prepared);
    }
    // Whatever a library opened without O_CLOEXEC stays out; the report pipe closes by exec itself.
    ::syscall(SYS_close_range, kChildDescriptors, prepared.report - 1, 0);
    ::syscall(SYS_close_range, prepared.report + 1, ~0U, 0);
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    for (int number = 1; number < NSIG; ++number)
        ::sigaction(number, &by_default, nullptr);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(prepared.program, prepared.argv, prepared.envp);
    give_up(prepared);
}

// posix_spawn can set neither the CPUs nor the death signal, and a helper program between mqcore
// and the child would be one more process to supervise. So this is what posix_spawn does inside,
// with those two steps added: vfork (no copy of the parent's page tables, the parent waits for the
// exec).
pid_t start(const Prepared& prepared) {
    sigset_t all, old;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &old);
    const pid_t pid = ::vfork();
    if (pid == 0)
        become(prepared);
    const int number = errno;
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    errno = number;
    return pid;
}

// A copy above the descriptors that the child overwrites.
UniqueFd above_targets(int descriptor) {
    constexpr int kFirst = 16;
    return UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, kFirst));
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
    std::vector<char*> result;
    for (const std::string& text : texts)
        result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
}

Error spawn_error(const SpawnPlan& plan, int number) {
    return {ErrorCode::host,
            fmt::format("cannot start '{}': {}", plan.program, std::strerror(number)),
            {}};
}

} // namespace

support::Result<pid_t> spawn(const SpawnPlan& plan) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return spawn_error(plan, errno);
    const UniqueFd report_read(ends[0]);
    UniqueFd report_write(ends[1]);
    report_write = above_targets(report_write.get());
    const UniqueFd null_low(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const UniqueFd null = above_targets(null_low.get());
    const UniqueFd output = above_targets(plan.output_descriptor);
    if (!report_write || !null || !output)
        return spawn_error(plan, errno);
    const UniqueFd control = above_targets(plan.control_descriptor); // -1 stays -1
    const UniqueFd page = above_targets(plan.page_descriptor);

    std::vector<std::string> arguments = plan.arguments;
    arguments.insert(arguments.begin(), plan.program);
    const std::vector<char*> argv = pointers(arguments);
    const std::vector<char*> envp = pointers(plan.environment);
    Prepared prepared;
    prepared.program = plan.program.c_str();
    prepared.argv = argv.data();
    prepared.envp = envp.data();
    prepared.parent = ::getpid();
    prepared.is_pinned = !plan.cpus.empty();
    prepared.is_traceable = plan.is_traceable;
    for (const int cpu : plan.cpus)
        CPU_SET(cpu, &prepared.cpus);
    prepared.source = {null.get(), output.get(), output.get(), control.get(), page.get()};
    prepared.report = report_write.get();

    const pid_t pid = start(prepared);
    if (pid < 0)
        return spawn_error(plan, errno);
    report_write.reset();
    int failed = 0;
    ssize_t got = 0;
    while ((got = ::read(report_read.get(), &failed, sizeof failed)) < 0 && errno == EINTR) {
    }
    if (got == 0)
        return pid; // closed by exec
    ::waitpid(pid, nullptr, 0);
    return spawn_error(plan, failed);
}

} // namespace mqcore::session
