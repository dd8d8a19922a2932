#include "support/catch.hpp"
#include "support/clock.hpp"
#include "support/subprocess.hpp"

#include <chrono>

using namespace mqcore::support;
using namespace std::chrono_literals;

namespace {

constexpr auto kLimit = std::chrono::milliseconds(20s); // only a hang reaches it

Result<ProgramOutput> shell(const std::string& script, std::chrono::milliseconds limit = kLimit) {
    return run_program({"sh", "-c", script}, limit);
}

} // namespace

TEST_CASE("output, errors and exit code of a program come back apart") {
    const auto output = shell("echo out; echo err >&2; exit 3");
    REQUIRE(output);
    CHECK(output->out == "out\n");
    CHECK(output->err == "err\n");
    CHECK(output->exit_code == 3);
}

TEST_CASE("arguments are passed as they are, without a shell") {
    const auto output = run_program({"printf", "%s|", "two words", "$HOME", "*", ""}, kLimit);
    REQUIRE(output);
    CHECK(output->out == "two words|$HOME|*||");
}

TEST_CASE("more output than a pipe holds does not block, on both streams at once") {
    const auto output =
        shell("i=0; while [ $i -lt 4000 ]; do echo 0123456789012345678901234567890123456789; "
              "echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done");
    REQUIRE(output);
    CHECK(output->out.size() == 4000 * 41);
    CHECK(output->err.size() == 4000 * 41);
}

TEST_CASE("a program has no stdin to wait for") {
    const auto output = shell("cat");
    REQUIRE(output);
    CHECK(output->out.empty());
}

TEST_CASE("a program that a signal ended has an exit code above 128") {
    const auto output = shell("kill -9 $$");
    REQUIRE(output);
    CHECK(output->exit_code == 128 + 9);
}

TEST_CASE("a program past its limit is killed and the error says so") {
    const Nanoseconds start = now_ns();
    const auto output = run_program({"sleep", "60"}, 50ms);
    REQUIRE_FALSE(output);
    CHECK(output.error().message == "'sleep' did not end within 50 ms");
    CHECK(now_ns() - start < 10 * kSecond);
}

TEST_CASE("a program that is not there is named") {
    const auto output = run_program({"mqcore-no-such-program"}, kLimit);
    REQUIRE_FALSE(output);
    CHECK(output.error().message ==
          "cannot run 'mqcore-no-such-program': No such file or directory");
}
