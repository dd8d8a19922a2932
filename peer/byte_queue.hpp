#pragma once
// Bytes on their way in or out: one contiguous block that is filled at its end and emptied at its
// front. Packets are parsed and written where they lie. Memory is not cleared when it grows, so a
// packet of 256 MiB costs the pages it really fills. One thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace mqcore::peer {

using Bytes = std::span<const std::uint8_t>;

inline Bytes bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
inline std::string_view text_of(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class ByteQueue {
  public:
    std::size_t size() const { return end_ - begin_; }
    bool is_empty() const { return begin_ == end_; }
    std::uint8_t* data() { return block_.get() + begin_; }
    const std::uint8_t* data() const { return block_.get() + begin_; }
    Bytes bytes() const { return {data(), size()}; }

    // Free space behind the last byte, at least `wanted`. Moves or grows the block when it must, so
    // pointers into it end here.
    std::span<std::uint8_t> space(std::size_t wanted) {
        if (capacity_ - end_ < wanted)
            make_space(wanted);
        return {block_.get() + end_, capacity_ - end_};
    }
    void filled(std::size_t count) { end_ += count; }

    // Appends `count` bytes for the caller to write.
    std::uint8_t* extend(std::size_t count) {
        std::uint8_t* at = space(count).data();
        end_ += count;
        return at;
    }
    void append(Bytes bytes) {
        if (!bytes.empty())
            std::memcpy(extend(bytes.size()), bytes.data(), bytes.size());
    }

    void consume(std::size_t count) {
        begin_ += count;
        if (begin_ == end_)
            begin_ = end_ = 0;
    }
    void clear() { begin_ = end_ = 0; }

  private:
    static constexpr std::size_t kSmallest = 4096;
    static constexpr std::size_t kDoubleCapacityUpTo = 1 << 20;

    void make_space(std::size_t wanted) {
        const std::size_t kept = size();
        if (capacity_ < kept + wanted) {
            // Doubling keeps appending linear; a single large packet gets what it asks for.
            const std::size_t doubled = std::min(2 * capacity_, kDoubleCapacityUpTo);
            const std::size_t capacity = std::max({kept + wanted, 2 * kept, doubled, kSmallest});
            auto block = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
            if (kept)
                std::memcpy(block.get(), data(), kept);
            block_ = std::move(block);
            capacity_ = capacity;
        } else if (kept) {
            std::memmove(block_.get(), data(), kept);
        }
        begin_ = 0;
        end_ = kept;
    }

    std::unique_ptr<std::uint8_t[]> block_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

} // namespace mqcore::peer
