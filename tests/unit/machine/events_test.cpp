#include "machine/events.hpp"

#include "fake_root.hpp"
#include "support/catch.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mqcore::machine;
using mqcore::support::UniqueFd;
using mqcore::test::FakeRoot;

namespace {

// Page faults stand in for instructions: every machine that has perf events at all counts them, and a
// test knows their number.
const EventKind kPageFaults{.name = "page_faults",
                            .type = PERF_TYPE_SOFTWARE,
                            .config = PERF_COUNT_SW_PAGE_FAULTS,
                            .counts_user = true,
                            .counts_kernel = false};
constexpr std::size_t kPages = 500;

void fault_in() {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* memory =
        ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        std::abort();
    ::madvise(memory, kPages * page, MADV_NOHUGEPAGE);
    for (std::size_t i = 0; i < kPages; ++i)
        static_cast<volatile char*>(memory)[i * page] = 1;
    ::munmap(memory, kPages * page);
}

// A process of the test's own that has a second thread, and does one thing for each byte it is told.
class Child {
  public:
    Child() {
        int to[2], from[2];
        REQUIRE(::pipe(to) == 0);
        REQUIRE(::pipe(from) == 0);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::close(to[1]); // so that the test's end is the child's
            serve(to[0], from[1]);
        }
        ::close(to[0]);
        ::close(from[1]);
        to_ = UniqueFd(to[1]);
        from_ = UniqueFd(from[0]);
        tell('.'); // its second thread is there
    }
    ~Child() {
        to_.reset();
        ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }
    // '.': nothing; 'm': the main thread faults pages in; 'o': the other one; 'n': a new one.
    void tell(char what) {
        char answer = 0;
        REQUIRE(::write(to_.get(), &what, 1) == 1);
        REQUIRE(::read(from_.get(), &answer, 1) == 1);
        REQUIRE(answer == what);
    }

  private:
    [[noreturn]] static void serve(int in, int out) {
        std::atomic<bool> is_wanted{false};
        std::thread other([&] {
            for (;;) {
                is_wanted.wait(false);
                fault_in();
                is_wanted = false;
                is_wanted.notify_all();
            }
        });
        for (char what = 0; ::read(in, &what, 1) == 1;) {
            if (what == 'm')
                fault_in();
            if (what == 'n')
                std::thread(fault_in).join();
            if (what == 'o') {
                is_wanted = true;
                is_wanted.notify_all();
                is_wanted.wait(true);
            }
            if (::write(out, &what, 1) != 1)
                break;
        }
        ::_exit(0);
    }

    pid_t pid_ = -1;
    UniqueFd to_, from_;
};

} // namespace

TEST_CASE("every thread of another process is counted, later ones too, from when one looks") {
    Child child;
    const EventCounters counters(child.pid(), std::span(&kPageFaults, 1));
    if (!counters.errors().empty()) {
        CHECK(counters.errors().at("page_faults").message.find("perf_event") != std::string::npos);
        return; // this sandbox forbids it
    }
    child.tell('m'); // before the first look
    const EventSample before = counters.sample();
    child.tell('m');
    const EventSample main = counters.sample();
    child.tell('o');
    const EventSample other = counters.sample();
    child.tell('n');
    child.tell('n');
    const EventSample end = counters.sample();
    const auto count = [&](const EventSample& from, const EventSample& to) {
        const EventUse use = counters.use_between(from, to);
        REQUIRE(use.unavailable.empty());
        CHECK(use.share == 1.0); // software events need no hardware counter
        return use.counts.at("page_faults");
    };
    constexpr std::size_t kBesides = kPages / 2; // stacks, and what the threads touch first
    CHECK(count(before, main) >= kPages);
    CHECK(count(before, main) < kPages + kBesides);
    CHECK(count(main, other) >= kPages);
    CHECK(count(main, other) < kPages + kBesides);
    CHECK(count(other, end) >= 2 * kPages);
    CHECK(count(other, end) < 2 * kPages + kBesides);
}

TEST_CASE("hardware events have a count or a reason, each of them") {
    Child child;
    const EventCounters counters(child.pid(), hardware_events());
    const EventSample before = counters.sample();
    child.tell('m');
    const EventUse use = counters.use_between(before, counters.sample());
    CHECK(use.share.has_value() == !use.counts.empty());
    for (const EventKind& kind : hardware_events()) {
        INFO(kind.name);
        CHECK(use.counts.contains(kind.name) != use.unavailable.contains(kind.name));
        if (use.counts.contains(kind.name))
            CHECK(use.counts.at(kind.name) > 0);
        else
            CHECK_FALSE(use.unavailable.at(kind.name).empty());
    }
}

TEST_CASE("a process that is gone has reasons") {
    constexpr pid_t kNobody = 1 << 22; // the kernel's limit of process numbers
    const EventCounters counters(kNobody, hardware_events());
    const EventUse use = counters.use_between(counters.sample(), counters.sample());
    CHECK(use.counts.empty());
    CHECK_FALSE(use.share);
    CHECK(use.unavailable.at("user_cycles") == "the process has no threads that can be seen");
}

TEST_CASE("counters that were shared with others are scaled, and that is told") {
    Child child;
    const EventCounters counters(child.pid(), std::span(&kPageFaults, 1));
    if (!counters.errors().empty())
        return; // this sandbox forbids it
    const auto use = [&](EventReading to) {
        return counters.use_between({{"page_faults", {100, 1000, 900}}}, {{"page_faults", to}});
    };
    const EventUse quarter = use({150, 3000, 1400});
    CHECK(quarter.counts.at("page_faults") == 200);
    CHECK(quarter.share == 0.25);
    const EventUse never = use({100, 3000, 900});
    CHECK(never.counts.empty());
    CHECK(never.unavailable.at("page_faults").find("others held the hardware counters") == 0);
    const EventUse asleep = use({100, 1000, 900}); // no thread ran: 0 is the truth
    CHECK(asleep.counts.at("page_faults") == 0);
    const EventUse unread = counters.use_between({}, {});
    CHECK(unread.unavailable.at("page_faults") == "the counter could not be read");
}

TEST_CASE("a refusal names what mends it") {
    const auto events = hardware_events();
    const EventKind &user = events[0], &kernel = events[1];
    const auto why = [](int number, const EventKind& kind, std::optional<int> paranoid) {
        return mqcore::support::one_line(why_not_counted(number, kind, paranoid));
    };
    CHECK(why(EACCES, user, 3) == "kernel.perf_event_paranoid is 3 and forbids it (as root, "
                                  "'sysctl kernel.perf_event_paranoid=1')");
    CHECK(why(EACCES, kernel, 2) == "kernel.perf_event_paranoid is 2 and forbids it (as root, "
                                    "'sysctl kernel.perf_event_paranoid=1')");
    CHECK(why(EPERM, user, 2) == "perf_event_open: Operation not permitted (a container needs a "
                                 "profile that lets the call pass, or CAP_PERFMON)");
    CHECK(why(ENOENT, user, 0).starts_with("this machine has no hardware counter for it"));
    CHECK(why(EOPNOTSUPP, user, 0) == why(ENOENT, user, 0));
    CHECK(why(ENOSYS, user, {}).starts_with("perf_event_open is not there"));
    CHECK(why(EMFILE, user, 2) == "perf_event_open: Too many open files");
}

TEST_CASE("the tracepoint of system calls comes from tracefs, or the way to it is told") {
    FakeRoot root;
    const auto missing = system_call_event(root.path());
    REQUIRE_FALSE(missing);
    CHECK(missing.error().hint.find("mount -t tracefs tracefs /sys/kernel/tracing") !=
          std::string::npos);
    root.with("sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "443\n");
    const auto found = system_call_event(root.path());
    REQUIRE(found);
    CHECK(found->name == "system_calls");
    CHECK(found->type == PERF_TYPE_TRACEPOINT);
    CHECK(found->config == 443);
}

TEST_CASE("system calls of another process are counted where the tracepoint can be had") {
    const auto kind = system_call_event();
    if (!kind)
        return; // the reason is checked above
    Child child;
    const EventCounters counters(child.pid(), std::span(&*kind, 1));
    if (!counters.errors().empty())
        return; // this sandbox forbids it
    const EventSample before = counters.sample();
    for (int i = 0; i < 100; ++i)
        child.tell('.');
    const EventUse use = counters.use_between(before, counters.sample());
    // One read and one write each; the last read may not have begun, the first one had.
    CHECK(use.counts.at("system_calls") >= 199);
    CHECK(use.counts.at("system_calls") <= 201);
}
