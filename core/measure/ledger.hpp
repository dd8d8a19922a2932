#pragma once
// Which sequence numbers of one direction have arrived: a bitmap, so that a loss and a duplicate
// never cancel. Recording is one bit test; pages are only touched as numbers arrive (32,768 numbers
// a page of 4 KiB). One writer.

#include "support/json.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace mqcore::measure {

class SequenceLedger {
  public:
    enum class Arrival { first, duplicate, beyond };
    static constexpr std::uint64_t kDefaultCapacity = std::uint64_t{1}
                                                      << 28; // numbers; 32 MiB, untouched

    explicit SequenceLedger(std::uint64_t capacity = kDefaultCapacity);
    ~SequenceLedger();
    SequenceLedger(const SequenceLedger&) = delete;
    SequenceLedger& operator=(const SequenceLedger&) = delete;

    // beyond: above the capacity; counted, but neither a loss nor a duplicate can be told.
    Arrival record(std::uint64_t sequence) {
        if (sequence >= capacity_) {
            ++beyond_;
            return Arrival::beyond;
        }
        std::uint64_t& word = words_[sequence >> 6];
        const std::uint64_t bit = std::uint64_t{1} << (sequence & 63);
        if (word & bit) {
            if (duplicates_++ < kNamed)
                first_duplicates_[duplicates_ - 1] = sequence;
            return Arrival::duplicate;
        }
        word |= bit;
        ++distinct_;
        if (sequence < frontier_)
            ++reordered_;
        else
            frontier_ = sequence + 1;
        return Arrival::first;
    }

    std::uint64_t distinct() const { return distinct_; }
    std::uint64_t duplicates() const { return duplicates_; }
    std::uint64_t reordered() const { return reordered_; } // arrived after a higher number
    std::uint64_t beyond() const { return beyond_; }
    std::uint64_t frontier() const { return frontier_; } // highest number seen, plus one

    // Numbers below `sent` that never arrived, counted exactly, and the first few of them.
    std::uint64_t lost(std::uint64_t sent) const;
    std::vector<std::uint64_t> first_lost(std::uint64_t sent) const;
    std::vector<std::uint64_t> first_duplicates() const;

    static constexpr std::size_t kNamed = 8; // how many numbers are named

    // {"distinct", "duplicates", "reordered", "beyond", "frontier", "lost_below_frontier",
    //  "first_lost": [...], "first_duplicates": [...]}: losses below the frontier; what was lost at
    // the end only the sender's count can tell.
    support::Json to_json() const;

  private:
    std::uint64_t capacity_;
    std::uint64_t* words_ = nullptr;
    std::uint64_t distinct_ = 0;
    std::uint64_t duplicates_ = 0;
    std::uint64_t reordered_ = 0;
    std::uint64_t beyond_ = 0;
    std::uint64_t frontier_ = 0;
    std::uint64_t first_duplicates_[kNamed] = {};
};

} // namespace mqcore::measure
