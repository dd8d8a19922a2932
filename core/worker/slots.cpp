#include "worker/slots.hpp"

#include "measure/payload.hpp"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace mqcore::worker {
namespace {

constexpr std::size_t kLine = 64;

} // namespace

SlotTable::SlotTable(const measure::SendSpec& send)
    : window_(send.window), tag_(send.tag),
      payload_bytes_(send.payload_bytes.empty() ? 0 : std::ranges::max(send.payload_bytes)),
      has_properties_(!send.properties.is_empty()), topic_alias_(send.topic_alias),
      messages_(std::make_unique<mqcore_message[]>(window_)),
      free_(std::make_unique<std::uint32_t[]>(window_)),
      next_(std::make_unique<std::uint32_t[]>(window_)),
      out_(std::make_unique<std::atomic<bool>[]>(window_)) {
    stride_ = std::max(kLine, (payload_bytes_ + kLine - 1) / kLine * kLine);
    void* memory = ::mmap(nullptr, stride_ * window_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    payloads_ = static_cast<std::uint8_t*>(memory);
    for (std::uint32_t slot = window_; slot-- > 0;)
        free_[free_count_++] = slot; // slot 0 on top
}

SlotTable::~SlotTable() { ::munmap(payloads_, stride_ * window_); }

bool SlotTable::refill() {
    std::uint32_t slot = returned_.exchange(kNone, std::memory_order_acquire);
    if (slot == kNone)
        return false;
    for (; slot != kNone; slot = next_[slot])
        free_[free_count_++] = slot;
    return true;
}

void SlotTable::prepare_up_to(std::uint32_t slot) {
    for (; prepared_ <= slot; ++prepared_) {
        measure::prepare_payload(payload(prepared_), payload_bytes_, tag_);
        mqcore_message& message = messages_[prepared_];
        message.payload = payload_bytes_ ? payload(prepared_) : nullptr;
        message.slot = static_cast<std::uint16_t>(prepared_);
        message.properties = has_properties_ ? 0 : MQCORE_NONE;
        message.topic_alias = topic_alias_;
    }
}

} // namespace mqcore::worker
