#include "support/subprocess.hpp"

#include "support/clock.hpp"
#include "support/unique_fd.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

namespace mqcore::support {
namespace {

struct Pipe {
    UniqueFd read_end, write_end;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return Error{
            ErrorCode::host, fmt::format("cannot make a pipe: {}", std::strerror(errno)), {}};
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// False once the pipe has ended.
bool read_some(int fd, std::string& into) {
    char block[4096];
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got > 0)
        into.append(block, static_cast<std::size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
}

} // namespace

Result<ProgramOutput> run_program(const std::vector<std::string>& arguments,
                                  std::chrono::milliseconds limit, ErrorStream error_stream) {
    Result<Pipe> out = make_pipe();
    Result<Pipe> err = make_pipe();
    if (!out || !err)
        return out ? err.error() : out.error();

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out->write_end.get(), 1);
    if (error_stream == ErrorStream::capture)
        posix_spawn_file_actions_adddup2(&actions, err->write_end.get(), 2);
    std::vector<char*> argv;
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_t pid = 0;
    const int failed = ::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return Error{ErrorCode::host,
                     fmt::format("cannot run '{}': {}", arguments[0], std::strerror(failed)),
                     {}};
    out->write_end.reset();
    err->write_end.reset();

    ProgramOutput output;
    const Nanoseconds deadline =
        now_ns() + static_cast<Nanoseconds>(std::chrono::nanoseconds(limit).count());
    pollfd pipes[2] = {{out->read_end.get(), POLLIN, 0}, {err->read_end.get(), POLLIN, 0}};
    bool is_late = false;
    while ((pipes[0].fd >= 0 || pipes[1].fd >= 0) && !is_late) {
        const Nanoseconds now = now_ns();
        const int left_ms =
            now >= deadline ? 0 : static_cast<int>((deadline - now) / kMillisecond) + 1;
        const int ready = ::poll(pipes, 2, left_ms);
        is_late = ready == 0;
        for (int i = 0; ready > 0 && i < 2; ++i)
            if (pipes[i].revents && !read_some(pipes[i].fd, i == 0 ? output.out : output.err))
                pipes[i].fd = -1;
    }
    if (is_late)
        ::kill(pid, SIGKILL);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (is_late)
        return Error{ErrorCode::host,
                     fmt::format("'{}' did not end within {} ms", arguments[0], limit.count()),
                     {}};
    output.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return output;
}

} // namespace mqcore::support
