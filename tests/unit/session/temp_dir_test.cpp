#include "session/temp_dir.hpp"

#include "scratch.hpp"

#include <csignal>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>

using mqcore::session::TempDir;
using mqcore::test::scratch;

TEST_CASE("a session's folder is private and goes with everything in it") {
    std::filesystem::path path;
    {
        const TempDir folder = scratch();
        path = folder.path();
        std::ofstream(path / "secret") << "x";
        struct stat info {};
        REQUIRE(::stat(path.c_str(), &info) == 0);
        CHECK((info.st_mode & 0777) == 0700);
    }
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("a folder whose owner was killed goes with the next one, a living one's stays") {
    const TempDir living = scratch();
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
        const auto folder = TempDir::create();
        const std::string path = folder ? folder->path().string() : "";
        (void)!::write(ends[1], path.data(), path.size());
        ::kill(::getpid(), SIGKILL);
    }
    ::close(ends[1]);
    char path[256] = "";
    REQUIRE(::read(ends[0], path, sizeof path - 1) > 0);
    ::close(ends[0]);
    ::waitpid(owner, nullptr, 0);
    CHECK(std::filesystem::exists(path));

    const TempDir next = scratch();
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(std::filesystem::exists(living.path()));
    CHECK(std::filesystem::exists(next.path()));
}
