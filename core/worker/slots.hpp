#pragma once
// The in-flight window: one record and one payload buffer a slot. The driving thread takes slots, any
// thread gives them back. Neither side takes a lock: free slots are private to the driving thread, and
// slots that another thread gives back wait in a stack that the driving thread empties as a whole
// with one exchange, so the shared line is touched once a refill and not once a message.

#include "measure/specification.hpp"
#include "mqcore/driver.h"
#include "support/unique_fd.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace mqcore::worker {

class SlotTable {
  public:
    explicit SlotTable(const measure::SendSpec& send);
    ~SlotTable();
    SlotTable(const SlotTable&) = delete;
    SlotTable& operator=(const SlotTable&) = delete;

    std::uint32_t window() const { return window_; }
    mqcore_message& message(std::uint32_t slot) { return messages_[slot]; }
    std::uint8_t* payload(std::uint32_t slot) { return payloads_ + slot * stride_; }

    // A free slot, most recently used first so that it is warm in the cache. [drive-thread]
    std::optional<std::uint32_t> take() {
        if (free_count_ == 0 && !refill())
            return std::nullopt;
        const std::uint32_t slot = free_[--free_count_];
        out_[slot].store(true, std::memory_order_relaxed);
        if (slot >= prepared_)
            prepare_up_to(slot);
        return slot;
    }

    // False: the slot was not out. [drive-thread]
    bool give_back_here(std::uint32_t slot) {
        if (!out_[slot].load(std::memory_order_relaxed))
            return false;
        out_[slot].store(false, std::memory_order_relaxed);
        free_[free_count_++] = slot;
        return true;
    }

    // False: the slot was not out. [other threads]
    bool give_back_elsewhere(std::uint32_t slot) {
        if (!out_[slot].exchange(false, std::memory_order_relaxed))
            return false;
        std::uint32_t head = returned_.load(std::memory_order_relaxed);
        do {
            next_[slot] = head;
        } while (!returned_.compare_exchange_weak(head, slot, std::memory_order_seq_cst,
                                                  std::memory_order_relaxed));
        return true;
    }

    // seq_cst pairs with give_back_elsewhere: see PacingSource::wait. [drive-thread]
    bool has_returned() const { return returned_.load(std::memory_order_seq_cst) != kNone; }

  private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    bool refill();
    // Slots are taken lowest first, so a window that is never filled never touches the memory of its
    // upper slots: a large payload does not inflate the worker's RSS by the whole window.
    void prepare_up_to(std::uint32_t slot);

    std::uint32_t window_;
    std::uint32_t tag_;
    std::size_t stride_;
    std::size_t payload_bytes_;
    bool has_properties_;
    std::uint16_t topic_alias_;
    std::uint32_t prepared_ = 0;
    std::uint32_t free_count_ = 0;
    std::unique_ptr<mqcore_message[]> messages_;
    std::unique_ptr<std::uint32_t[]> free_;
    std::unique_ptr<std::uint32_t[]> next_; // links of the returned stack
    std::unique_ptr<std::atomic<bool>[]> out_;
    std::uint8_t* payloads_ = nullptr;
    alignas(128) std::atomic<std::uint32_t> returned_{kNone};
};

} // namespace mqcore::worker
