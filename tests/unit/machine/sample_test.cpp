#include "machine/sample.hpp"

#include "fake_root.hpp"
#include "support/catch.hpp"

#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace mqcore::machine;
using mqcore::support::kMillisecond;
using mqcore::support::kSecond;
using mqcore::support::now_ns;
using mqcore::test::FakeRoot;

namespace {

// Uses so much CPU time of this process, however busy the machine is.
void burn(mqcore::support::Nanoseconds length) {
    const auto used = [] {
        timespec time{};
        ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<mqcore::support::Nanoseconds>(time.tv_sec) * kSecond +
               static_cast<mqcore::support::Nanoseconds>(time.tv_nsec);
    };
    for (const auto end = used() + length; used() < end;)
        ;
}

std::string stat_line(const std::string& name, int user, int system) {
    return "7 (" + name + ") S 1 7 7 0 -1 4194304 100 0 0 0 " + std::to_string(user) + " " +
           std::to_string(system) + " 0 0 20 0 1 0 100 1000 10\n";
}

std::string status_text(int voluntary, int involuntary) {
    return "Name:\tx\nVmHWM:\t   2000 kB\nVmRSS:\t   1500 kB\nThreads:\t3\n"
           "voluntary_ctxt_switches:\t" +
           std::to_string(voluntary) + "\nnonvoluntary_ctxt_switches:\t" +
           std::to_string(involuntary) + "\n";
}

} // namespace

TEST_CASE("CPU time is exact and its parts add up to it") {
    ProcessSampler sampler(::getpid());
    const ProcessSample before = sampler.sample();
    burn(120 * kMillisecond);
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    REQUIRE(use.cpu_ns);
    CHECK(*use.cpu_ns >= 120 * kMillisecond);
    CHECK(*use.cpu_ns < use.span_ns + 10 * kMillisecond);
    REQUIRE(use.cpu_user_ns);
    REQUIRE(use.cpu_sys_ns);
    CHECK(*use.cpu_user_ns + *use.cpu_sys_ns == *use.cpu_ns);
}

TEST_CASE("the peak is that of the window: what was used before it does not count") {
    constexpr std::size_t kBytes = 64u << 20;
    const auto touch = [] {
        void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        REQUIRE(memory != MAP_FAILED);
        ::munmap(memory, kBytes);
    };
    touch();
    ProcessSampler sampler(::getpid());
    sampler.begin();
    const ProcessSample before = sampler.sample();
    const ProcessUse quiet = sampler.use_between(before, sampler.sample());
    REQUIRE(quiet.rss_peak_kib);
    REQUIRE(quiet.rss_kib);
    CHECK(*quiet.rss_peak_kib < *quiet.rss_kib + kBytes / 2048);
    if (quiet.is_peak_sampled)
        return; // this kernel does not let the peak be reset
    touch();
    const ProcessUse busy = sampler.use_between(before, sampler.sample());
    CHECK(*busy.rss_peak_kib > *quiet.rss_peak_kib + kBytes / 2048);
}

TEST_CASE("context switches of every thread are counted") {
    std::atomic<bool> stop{false};
    std::thread sleeper([&] {
        while (!stop)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    ProcessSampler sampler(::getpid());
    const ProcessSample before = sampler.sample();
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    stop = true;
    sleeper.join();
    REQUIRE(use.voluntary_switches);
    CHECK(*use.voluntary_switches >= 10);
    CHECK(use.threads >= 2u);
}

TEST_CASE("a thread that ended in the window makes the switches unknown, not fewer") {
    FakeRoot proc;
    const std::string folder = std::to_string(::getpid());
    proc.with(folder + "/stat", stat_line("x", 10, 10))
        .with(folder + "/status", status_text(1, 1))
        .with(folder + "/task/7/status", status_text(5, 1))
        .with(folder + "/task/8/status", status_text(9, 1));
    ProcessSampler sampler(::getpid(), proc.path());
    const ProcessSample before = sampler.sample();
    std::filesystem::remove_all(proc.path() / folder / "task/8");
    proc.with(folder + "/task/7/status", status_text(25, 3))
        .with(folder + "/task/9/status", status_text(2, 0));
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    CHECK_FALSE(use.voluntary_switches);
    CHECK(use.unavailable.at("voluntary_switches") ==
          "a thread ended in the window and took its count along");

    proc.with(folder + "/task/8/status", status_text(10, 1)); // it lives after all
    const ProcessUse again = sampler.use_between(before, sampler.sample());
    CHECK(again.voluntary_switches == 20u + 1u + 2u);
    CHECK(again.involuntary_switches == 2u);
}

TEST_CASE("a process whose folder is hidden has CPU time, and reasons instead of zeros") {
    FakeRoot empty;
    const ProcessSampler sampler(::getpid(), empty.path());
    const ProcessSample before = sampler.sample();
    burn(2 * kMillisecond);
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    CHECK(use.cpu_ns);
    CHECK_FALSE(use.cpu_user_ns);
    CHECK_FALSE(use.rss_kib);
    CHECK_FALSE(use.threads);
    CHECK_FALSE(use.voluntary_switches);
    for (const char* name : {"cpu_user_ns", "rss_kib", "rss_peak_kib", "threads",
                             "voluntary_switches", "involuntary_switches"}) {
        INFO(name);
        CHECK(use.unavailable.at(name).find("No such file or directory") != std::string::npos);
    }
}

TEST_CASE("a process that is gone has no CPU clock and says so") {
    constexpr pid_t kNobody = 1 << 22; // the kernel's limit of process numbers
    const ProcessSampler sampler(kNobody);
    const ProcessSample before = sampler.sample();
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    CHECK_FALSE(use.cpu_ns);
    CHECK(use.unavailable.contains("cpu_ns"));
    const auto json = to_json(use);
    CHECK(json.at("cpu_user_ns").is_null());
    CHECK(json.at("unavailable").as_object().contains("cpu_sys_ns"));
}

TEST_CASE("less than a tick of CPU time cannot be split") {
    FakeRoot proc;
    const std::string folder = std::to_string(::getpid());
    proc.with(folder + "/stat", stat_line("x", 10, 10));
    const ProcessSampler sampler(::getpid(), proc.path());
    const ProcessSample before = sampler.sample();
    const ProcessUse use = sampler.use_between(before, sampler.sample());
    CHECK(use.cpu_ns);
    CHECK_FALSE(use.cpu_user_ns);
    CHECK(use.unavailable.at("cpu_user_ns").find("ticks of") != std::string::npos);
}

TEST_CASE("a process name with blanks and brackets does not shift the fields") {
    FakeRoot proc;
    const std::string folder = std::to_string(::getpid());
    proc.with(folder + "/stat", stat_line("a) (b c", 40, 10));
    const ProcessSampler sampler(::getpid(), proc.path());
    const ProcessSample sample = sampler.sample();
    CHECK(sample.user_ticks == 40u);
    CHECK(sample.sys_ticks == 10u);
}

namespace {

// One second between them, at 100 ticks a second.
HostUse host_use(const std::string& before, const std::string& after,
                 mqcore::support::Nanoseconds parties, FakeRoot& proc) {
    proc.with("stat", before);
    HostSample first = sample_host(proc.path());
    proc.with("stat", after);
    HostSample second = sample_host(proc.path());
    first.at_ns = 0;
    second.at_ns = kSecond;
    return use_between(first, second, parties, {10});
}

} // namespace

TEST_CASE("what the parties used is not other work") {
    FakeRoot proc;
    const HostUse use =
        host_use("cpu  1000 0 100 5000 7 0 20 3 0 0\ncpu0 1 2 3\n",
                 "cpu  1150 0 130 5200 9 4 50 13 0 0\ncpu0 1 2 3\n", 1'500 * kMillisecond, proc);
    REQUIRE(use.other_busy_cores);
    CHECK(*use.other_busy_cores == Approx(0.3));
    CHECK(*use.softirq == Approx(0.3));
    CHECK(*use.irq == Approx(0.04));
    CHECK(*use.steal == Approx(0.1));
    CHECK(*use.iowait == Approx(0.02));
    CHECK(*use.kernel_busy_cores == Approx(0.44));
}

TEST_CASE("each logical CPU has its shares, one that came online in the window has none") {
    FakeRoot proc;
    const HostUse use =
        host_use("cpu  0 0 0 0 0 0 0 0\ncpu0 10 0 5 80 0 0 5 0\ncpu3 0 0 0 0 0 0 0 0\n",
                 "cpu  0 0 0 0 0 0 0 0\ncpu0 40 10 15 90 3 2 15 7\n"
                 "cpu1 9 9 9 9 9 9 9 9\ncpu3 0 0 0 100 0 0 0 0\nintr 5\n",
                 0, proc);
    REQUIRE(use.cpus.size() == 2);
    CHECK(use.cpus[0].number == 0);
    CHECK(use.cpus[0].busy == Approx(0.62));
    CHECK(use.cpus[0].irq == Approx(0.02));
    CHECK(use.cpus[0].softirq == Approx(0.1));
    CHECK(use.cpus[0].steal == Approx(0.07));
    CHECK(use.cpus[0].iowait == Approx(0.03));
    CHECK(use.cpus[1].number == 3);
    CHECK(use.cpus[1].busy == 0.0);
    CHECK(mqcore::support::print_json(to_json(use).at("cpus")) ==
          R"({"number":[0,3],"busy":[6.2E-1,0E0],"irq":[2E-2,0E0],"softirq":[1E-1,0E0],)"
          R"("steal":[7E-2,0E0],"iowait":[3E-2,0E0]})");
}

TEST_CASE("parties that used more than the ticks show leave no negative rest") {
    FakeRoot proc;
    const HostUse use =
        host_use("cpu  100 0 0 0 0 0 0 0\n", "cpu  150 0 0 0 0 0 0 0\n", 900 * kMillisecond, proc);
    CHECK(*use.other_busy_cores == 0.0);
}

TEST_CASE("the busiest other processes are named, parties left out") {
    FakeRoot proc;
    proc.with("stat", "cpu  0 0 0 0 0 0 0 0\n")
        .with("10/stat", stat_line("party", 0, 0))
        .with("11/stat", stat_line("busy", 0, 0))
        .with("12/stat", stat_line("calm", 5, 5));
    HostSample first = sample_host(proc.path());
    proc.with("10/stat", stat_line("party", 90, 0))
        .with("11/stat", stat_line("busy", 30, 10))
        .with("13/stat", stat_line("busy", 5, 0));
    HostSample second = sample_host(proc.path());
    first.at_ns = 0;
    second.at_ns = kSecond;
    const HostUse use = use_between(first, second, 0, {10});
    REQUIRE(use.top.size() == 1);
    CHECK(use.top[0].name == "busy");
    CHECK(use.top[0].cores == Approx(0.45));
    CHECK(*use.other_busy_cores == Approx(0.45)); // their own ticks are the better lower bound here
}

TEST_CASE("a host that hides /proc/stat gives reasons") {
    FakeRoot proc;
    const HostUse use = use_between(sample_host(proc.path()), sample_host(proc.path()), 0, {});
    CHECK_FALSE(use.other_busy_cores);
    CHECK(use.unavailable.contains("other_busy_cores"));
    CHECK(use.unavailable.contains("kernel_busy_cores"));
    CHECK(use.unavailable.contains("cpus"));
    CHECK(to_json(use).at("other_busy_cores").is_null());
}
