#include "machine/doctor.hpp"

#include "fake_root.hpp"
#include "machine/mosquitto.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sys/resource.h>

using namespace mqcore::machine;
using mqcore::test::FakeRoot;

namespace {

DoctorQuestions plain_questions() {
    return {.worker_program = "/bin/true", .peer_program = "/bin/true", .results_folder = "/tmp"};
}

Finding finding(const DoctorQuestions& questions, const std::string& id) {
    for (const Finding& found : examine(questions))
        if (found.id == id)
            return found;
    FAIL("no check " << id);
    return {};
}

} // namespace

TEST_CASE("every check answers, has its own id, and mends what it complains about") {
    std::set<std::string> ids;
    for (const Finding& found : examine(plain_questions())) {
        INFO(found.id << ": " << found.detail);
        CHECK(ids.insert(found.id).second);
        CHECK_FALSE(found.what.empty());
        CHECK_FALSE(found.detail.empty());
        CHECK(found.mend.empty() == (found.outcome == Outcome::ok));
    }
    CHECK(ids.size() >= 15);
}

TEST_CASE("missing programs are a failure that names them") {
    DoctorQuestions questions = plain_questions();
    questions.worker_program = "/nowhere/mqworker";
    const Finding found = finding(questions, "programs");
    CHECK(found.outcome == Outcome::fail);
    CHECK(found.detail == "'mqworker' cannot be run");
    CHECK(worst_of(examine(questions)) == Outcome::fail);
}

TEST_CASE("too few descriptors for the planned connections are found, with the number") {
    DoctorQuestions questions = plain_questions();
    rlimit limit{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit before = limit;
    limit.rlim_cur = 256;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    questions.connections = 300;
    const Finding found = finding(questions, "open-files");
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(found.outcome == Outcome::fail);
    CHECK(found.detail == "'ulimit -n' is 256; 364 are needed for 300 connections");
    CHECK(found.mend == "raise it in this shell: 'ulimit -n 364'");
}

TEST_CASE("a port range of 100, or one full of closed connections, is found") {
    FakeRoot root;
    root.with("proc/sys/net/ipv4/ip_local_port_range", "40000\t40099\n")
        .with("proc/net/sockstat", "sockets: used 1\nTCP: inuse 4 orphan 0 tw 90 alloc 5 mem 1\n");
    DoctorQuestions questions = plain_questions();
    questions.root = root.path();
    const Finding found = finding(questions, "source-ports");
    CHECK(found.outcome == Outcome::fail);
    CHECK(found.detail ==
          "100 source ports (40000-40099), 90 of them waiting after a close; 65 are "
          "needed");
    root.with("proc/net/sockstat", "TCP: inuse 4 orphan 0 tw 3 alloc 5 mem 1\n");
    CHECK(finding(questions, "source-ports").outcome == Outcome::ok);
}

TEST_CASE("a /proc that hides other processes is a warning, not a failure") {
    FakeRoot root;
    root.with("proc/self/status", "Name:\tx\n").with("proc/stat", "cpu  1 2 3 4 5 6 7 8\n");
    DoctorQuestions questions = plain_questions();
    questions.root = root.path();
    CHECK(finding(questions, "readable-proc").outcome == Outcome::warn);
}

TEST_CASE("counters that cannot be had are named, with how to have them") {
    FakeRoot root;
    DoctorQuestions questions = plain_questions();
    questions.root = root.path();
    const Finding calls = finding(questions, "system-calls");
    CHECK(calls.outcome == Outcome::warn);
    CHECK(calls.detail.starts_with("a client's calls cannot be counted: cannot read "));
    CHECK(calls.detail.ends_with("raw_syscalls/sys_enter/id: No such file or directory"));
    CHECK(calls.mend.find("mount -t tracefs tracefs /sys/kernel/tracing") != std::string::npos);
    const Finding hardware = finding(questions, "perf-events"); // of this machine, whatever it has
    const bool is_counted = hardware.outcome == Outcome::ok;
    CHECK((hardware.detail.find("cannot be counted: ") == std::string::npos) == is_counted);
}

TEST_CASE("environments that are not ready are named with their reason") {
    DoctorQuestions questions = plain_questions();
    questions.environments = {{"paho", true, "3.11"}, {"gmqtt", false, "never synced"}};
    const Finding found = finding(questions, "environments");
    CHECK(found.outcome == Outcome::warn);
    CHECK(found.detail == "not ready: gmqtt (never synced)");
}

TEST_CASE(
    "a broker that is not installed is one line with a way out, and the doctor says the same") {
    const char* path = std::getenv("PATH");
    const std::string before = path ? path : "";
    ::setenv("PATH", "/nowhere", 1);
    ::setenv("MQCORE_SERVER_PATH", "/nowhere/sbin", 1);
    const auto found = find_mosquitto();
    const Finding diagnosis = finding(plain_questions(), "mosquitto");
    ::setenv("PATH", before.c_str(), 1);
    ::unsetenv("MQCORE_SERVER_PATH");
    REQUIRE_FALSE(found);
    CHECK(found.error().message ==
          "the broker 'mosquitto' is not installed: it is neither in PATH nor in /nowhere/sbin");
    CHECK(found.error().hint.find("apt-get install mosquitto") != std::string::npos);
    CHECK(diagnosis.outcome == Outcome::fail);
    CHECK(diagnosis.detail == found.error().message);
    CHECK(diagnosis.mend == found.error().hint);
}
