#include "session/child.hpp"

#include "scratch.hpp"
#include "support/unique_fd.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <thread>

using namespace mqcore::session;
using mqcore::support::JsonObject;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;
using mqcore::support::now_ns;
using mqcore::test::fake_party;
using mqcore::test::scratch;

namespace {

struct Fixture {
    TempDir folder = scratch();
    Supervisor supervisor;

    std::unique_ptr<Child> start(const std::string& habit, const std::string& name = "client") {
        auto child = supervisor.start({.name = name,
                                       .party = name,
                                       .program = fake_party(),
                                       .arguments = {habit},
                                       .log_file = folder.path() / "log"});
        REQUIRE(child);
        return std::move(*child);
    }
    Reply ask(Child& child, const char* verb, const char* event, Nanoseconds limit = 5 * kSecond) {
        JsonObject order{{"do", verb}, {"spec", JsonObject{}}};
        return supervisor.ask(child, order, event, now_ns() + limit);
    }
};

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }

} // namespace

TEST_CASE("a child answers with the event that is due") {
    Fixture fixture;
    const auto child = fixture.start("");
    const Reply reply = fixture.ask(*child, "prepare", "prepared");
    REQUIRE(reply);
    CHECK(reply.event.at("driver").at("id") == "fake");
    CHECK(child->is_running());
    CHECK(child->how_it_ended().empty());
}

TEST_CASE("a child that is told to finish ends without being a failure") {
    Fixture fixture;
    const auto child = fixture.start("");
    child->expect_end();
    REQUIRE(fixture.ask(*child, "finish", "finished"));
    CHECK(fixture.supervisor.wait_for_end(*child, now_ns() + 5 * kSecond));
    CHECK(child->how_it_ended() == "exit code 0");
    CHECK_FALSE(fixture.supervisor.wait_until(now_ns() + kMillisecond));
}

TEST_CASE("a killed child is told at once, with the signal and the phase") {
    Fixture fixture;
    const auto child = fixture.start("kill@drive");
    fixture.supervisor.set_phase("window");
    const Nanoseconds begin = now_ns();
    const Reply reply = fixture.ask(*child, "drive", "driven", 30 * kSecond);
    REQUIRE_FALSE(reply);
    CHECK(now_ns() - begin < 5 * kSecond);
    CHECK(reply.failure->party == "client");
    CHECK(reply.failure->phase == "window");
    CHECK(reply.failure->status == "killed");
    CHECK(reply.failure->reason == "the client ended with signal 9 (SIGKILL)");
}

TEST_CASE("a child that exits by itself is a failure whatever its exit code") {
    Fixture fixture;
    for (const auto& [habit, how] :
         {std::pair("exit0@connect", "exit code 0"), std::pair("exit3@connect", "exit code 3")}) {
        const auto child = fixture.start(habit);
        const Reply reply = fixture.ask(*child, "connect", "connected");
        REQUIRE_FALSE(reply);
        CHECK(reply.failure->status == "ended");
        CHECK(reply.failure->reason == std::string("the client ended with ") + how);
    }
}

TEST_CASE("a child's own word for its failure is kept") {
    Fixture fixture;
    const auto child = fixture.start("fail@connect");
    const Reply reply = fixture.ask(*child, "connect", "connected");
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->phase == "connecting");
    CHECK(reply.failure->status == "refused");
    CHECK(reply.failure->reason == "bad user name");
    const auto event = fixture.supervisor.failed_event(*child);
    REQUIRE(event);
    CHECK(event->at("notes").at("tried") == 1);
}

TEST_CASE("a child that never answers misses its deadline") {
    Fixture fixture;
    const auto child = fixture.start("silent@connect");
    const Reply reply = fixture.ask(*child, "connect", "connected", 200 * kMillisecond);
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->status == "deadline");
    CHECK(reply.failure->reason == "the client did not say 'connected' within 0.2 s");
}

TEST_CASE("a child that closes its channel misses its deadline and is ended") {
    Fixture fixture;
    const auto child = fixture.start("close@connect");
    const Reply reply = fixture.ask(*child, "connect", "connected", 200 * kMillisecond);
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->status == "deadline");
    child->end();
    CHECK_FALSE(child->is_running());
}

TEST_CASE("a child that is stopped is named so, before a long deadline, and can be ended") {
    Fixture fixture;
    const auto child = fixture.start("stop@drive");
    const Nanoseconds begin = now_ns();
    const Reply reply = fixture.ask(*child, "drive", "driven", 60 * kSecond);
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->status == "stopped");
    CHECK(now_ns() - begin < 20 * kSecond);
    child->end(kSecond);
    CHECK(child->how_it_ended() == "signal 9 (SIGKILL)");
}

TEST_CASE("text that is no event is garbage, with its beginning shown") {
    Fixture fixture;
    const auto child = fixture.start("garbage@connect");
    const Reply reply = fixture.ask(*child, "connect", "connected");
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->status == "garbage");
    CHECK(reply.failure->reason == "the client said '%!PS not a document', which is no event");
}

TEST_CASE("another event than the due one is garbage") {
    Fixture fixture;
    const auto child = fixture.start("");
    const Reply reply = fixture.ask(*child, "connect", "driven");
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->reason == "the client said 'connected' where 'driven' was due");
}

TEST_CASE("waiting for one child ends when another one dies") {
    Fixture fixture;
    const auto silent = fixture.start("silent@drive", "client");
    const auto dying = fixture.start("kill@drive", "peer");
    silent->tell(JsonObject{{"do", "drive"}});
    dying->tell(JsonObject{{"do", "drive"}});
    const Reply reply = fixture.supervisor.expect(*silent, "driven", now_ns() + 30 * kSecond);
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->party == "peer");
}

TEST_CASE("a dead broker is the cause of what the parties report") {
    Fixture fixture;
    const auto client = fixture.start("fail@drive", "client");
    const auto broker = fixture.start("kill@drive", "broker");
    client->tell(JsonObject{{"do", "drive"}});
    broker->tell(JsonObject{{"do", "drive"}});
    const Reply reply = fixture.supervisor.expect(*client, "driven", now_ns() + 30 * kSecond);
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->party == "broker");
    CHECK(reply.failure->status == "killed");
}

TEST_CASE("sleeping until an instant is exact and ends early on a failure") {
    Fixture fixture;
    const Nanoseconds instant = now_ns() + 20 * kMillisecond;
    CHECK_FALSE(fixture.supervisor.wait_until(instant));
    CHECK(now_ns() >= instant);

    const auto child = fixture.start("kill@drive");
    child->tell(JsonObject{{"do", "drive"}});
    const Nanoseconds begin = now_ns();
    CHECK(fixture.supervisor.wait_until(now_ns() + 30 * kSecond));
    CHECK(now_ns() - begin < 5 * kSecond);
}

TEST_CASE("SIGINT wakes a wait and stays known") {
    Fixture fixture;
    const auto child = fixture.start("silent@connect");
    CHECK_FALSE(fixture.supervisor.is_interrupted());
    std::thread later([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ::kill(::getpid(), SIGINT);
    });
    const Reply reply = fixture.ask(*child, "connect", "connected", 30 * kSecond);
    later.join();
    REQUIRE_FALSE(reply);
    CHECK(reply.failure->status == "interrupted");
    CHECK(reply.failure->party == "user");
    CHECK(fixture.supervisor.is_interrupted());
    CHECK(child->is_running()); // in a session of its own: the signal was not for it
}

TEST_CASE("a child that ignores SIGTERM is killed after the grace") {
    Fixture fixture;
    const auto child = fixture.start("deaf");
    REQUIRE(fixture.ask(*child, "prepare", "prepared"));
    child->end(100 * kMillisecond);
    CHECK(child->how_it_ended() == "signal 9 (SIGKILL)");
}

TEST_CASE("what a child leaves behind goes with it, and no zombie stays") {
    Fixture fixture;
    auto child = fixture.start("grandchild");
    const Reply reply = fixture.supervisor.expect(*child, "seen", now_ns() + 5 * kSecond);
    REQUIRE(reply);
    const auto grandchild = static_cast<pid_t>(reply.event.at("pid").as_int64());
    const pid_t pid = child->pid();
    child.reset();
    CHECK_FALSE(exists(pid));
    const Nanoseconds deadline = now_ns() + 5 * kSecond;
    const auto is_gone = [&] { // it may wait as a zombie for whoever adopted it
        const auto file = std::filesystem::path("/proc") / std::to_string(grandchild) / "exe";
        std::error_code error;
        return !exists(grandchild) || std::filesystem::read_symlink(file, error).empty();
    };
    while (!is_gone() && now_ns() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(is_gone());
}

TEST_CASE("a child starts pinned, in a clean environment, with its own descriptors alone") {
    Fixture fixture;
    cpu_set_t allowed{};
    REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &allowed))
            last = cpu;
    ::setenv("PYTHONSTARTUP", "/evil.py", 1);
    ::setenv("LD_PRELOAD", "", 1);
    const int leaked = ::open("/dev/null", O_RDONLY); // without O_CLOEXEC, as libraries do
    const auto child = fixture.supervisor.start({.name = "client",
                                                 .party = "client",
                                                 .program = fake_party(),
                                                 .arguments = {"environment"},
                                                 .cpus = {last},
                                                 .log_file = fixture.folder.path() / "log",
                                                 .page_descriptor = leaked,
                                                 .environment = {{"MQCORE_TEST", "1"}}});
    ::close(leaked);
    ::unsetenv("PYTHONSTARTUP");
    ::unsetenv("LD_PRELOAD");
    REQUIRE(child);
    const Reply reply = fixture.supervisor.expect(**child, "seen", now_ns() + 5 * kSecond);
    REQUIRE(reply);
    CHECK(mqcore::support::print_json(reply.event.at("cpus")) == "[" + std::to_string(last) + "]");
    CHECK(mqcore::support::print_json(reply.event.at("descriptors")) == "[0,1,2,3,4]");
    CHECK(reply.event.at("is_leader") == true);
    CHECK(reply.event.at("blocks_sigint") == false);
    const std::string variables = mqcore::support::print_json(reply.event.at("variables"));
    CHECK(variables.find("MQCORE_TEST=1") != std::string::npos);
    CHECK(variables.find("PYTHONSTARTUP") == std::string::npos);
    CHECK(variables.find("LD_PRELOAD") == std::string::npos);
}

TEST_CASE("a program that is not there is an error, not a child") {
    Fixture fixture;
    const auto child = fixture.supervisor.start({.name = "client",
                                                 .party = "client",
                                                 .program = "/nowhere/mqworker",
                                                 .log_file = fixture.folder.path() / "log"});
    REQUIRE_FALSE(child);
    CHECK(child.error().message == "cannot start '/nowhere/mqworker': No such file or directory");
}

TEST_CASE("a long document reaches the child whole") {
    Fixture fixture;
    const auto child = fixture.start("");
    const std::string padding(3u << 20, 'x'); // far beyond a socket's buffer
    const Reply reply = fixture.supervisor.ask(
        *child, JsonObject{{"do", "echo"}, {"padding", padding}}, "echo", now_ns() + 20 * kSecond);
    REQUIRE(reply);
    CHECK(reply.event.at("order").at("padding").as_string().size() == padding.size());
}

TEST_CASE("what a child prints is in its log, and the tail names no person") {
    Fixture fixture;
    auto child = fixture.start("");
    REQUIRE(fixture.ask(*child, "prepare", "prepared"));
    child.reset();
    CHECK(log_tail(fixture.folder.path() / "log") == "a line in the log");

    const auto file = fixture.folder.path() / "other";
    const char* home = std::getenv("HOME");
    REQUIRE(home);
    {
        const mqcore::support::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT, 0600));
        for (int line = 1; line <= 30; ++line) {
            const std::string text = "line " + std::to_string(line) + " " + home + "/x.py\n";
            REQUIRE(::write(fd.get(), text.data(), text.size()) > 0);
        }
    }
    CHECK(log_tail(file, 2) == "line 29 ~/x.py\nline 30 ~/x.py");
    CHECK(log_tail(fixture.folder.path() / "none").empty());
}
