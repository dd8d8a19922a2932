#pragma once
// One shared page between a worker and its orchestrator: where the worker is and what it has counted
// so far. The worker's counters live here instead of being copied here, so keeping it current costs
// nothing; a worker that crashes leaves its last counts behind. The worker writes, everyone reads.

#include "support/result.hpp"
#include "support/unique_fd.hpp"

#include <atomic>
#include <cstdint>

namespace mqcore::measure {

constexpr int kPageDescriptor = 4; // where a worker finds the page

// In the order of a run; a number so that it fits an atomic.
enum class WorkerPhase : std::uint32_t {
    started,
    creating,
    created,
    connecting,
    connected,
    driving,
    driven,
    disconnecting,
    finished
};

std::string_view name_of(WorkerPhase phase);

struct ControlPage {
    std::atomic<std::uint32_t> phase{0};
    // Separate lines for the writers: the driving thread, completions from other threads, whoever
    // receives. The driving thread owns its counters alone, so it counts without a locked instruction.
    alignas(128) std::atomic<std::uint64_t> sent{0};
    std::atomic<std::uint64_t> completed_on_drive_thread{0};
    std::atomic<std::uint64_t> failed_on_drive_thread{0};
    alignas(128) std::atomic<std::uint64_t> completed_elsewhere{0};
    std::atomic<std::uint64_t> failed_elsewhere{0};
    alignas(128) std::atomic<std::uint64_t> received{0};

    std::uint64_t completed() const {
        return completed_on_drive_thread.load(std::memory_order_relaxed) +
               completed_elsewhere.load(std::memory_order_relaxed);
    }
    std::uint64_t failed() const {
        return failed_on_drive_thread.load(std::memory_order_relaxed) +
               failed_elsewhere.load(std::memory_order_relaxed);
    }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(ControlPage) <= 4096);

// Owns a mapping of the page.
class SharedPage {
  public:
    static support::Result<SharedPage> create(); // orchestrator: makes the memory file
    static support::Result<SharedPage> attach(int descriptor); // worker

    SharedPage(SharedPage&& other) noexcept;
    SharedPage& operator=(SharedPage&&) = delete;
    ~SharedPage();

    int fd() const { return fd_.get(); }
    ControlPage& page() const { return *page_; }

  private:
    SharedPage(support::UniqueFd fd, ControlPage* page) : fd_(std::move(fd)), page_(page) {}

    support::UniqueFd fd_;
    ControlPage* page_;
};

} // namespace mqcore::measure
