#pragma once
// Breaches of the driver contract that the core's half can see while running. Counted without a lock
// from any thread; a driver that breaks the contract has no number.

#include "support/json.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace mqcore::worker {

enum class Misuse : std::size_t {
    done_twice,
    done_unknown_slot,
    done_after_disconnect,
    received_after_disconnect,
    received_at_once,
    next_after_stop,
    next_off_drive_thread,
    returned_without_stop,
    count_of_rules,
};

class MisuseLog {
  public:
    void note(Misuse rule) {
        counts_[static_cast<std::size_t>(rule)].fetch_add(1, std::memory_order_relaxed);
    }

    // ["done-twice: done() was called again for a slot that was free (3 times)", ...]
    support::Json to_json() const;

  private:
    std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Misuse::count_of_rules)>
        counts_{};
};

} // namespace mqcore::worker
