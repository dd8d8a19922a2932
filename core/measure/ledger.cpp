#include "measure/ledger.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <sys/mman.h>

namespace mqcore::measure {
namespace {

std::size_t bytes_for(std::uint64_t capacity) {
    return static_cast<std::size_t>((capacity + 63) / 64 * 8);
}

} // namespace

SequenceLedger::SequenceLedger(std::uint64_t capacity) : capacity_(capacity) {
    void* memory = ::mmap(nullptr, bytes_for(capacity), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::bad_alloc();
    words_ = static_cast<std::uint64_t*>(memory);
}

SequenceLedger::~SequenceLedger() { ::munmap(words_, bytes_for(capacity_)); }

std::uint64_t SequenceLedger::lost(std::uint64_t sent) const {
    const std::uint64_t limit = std::min(sent, capacity_);
    std::uint64_t seen = 0;
    for (std::uint64_t word = 0; word < limit / 64; ++word)
        seen += static_cast<std::uint64_t>(std::popcount(words_[word]));
    if (limit % 64)
        seen += static_cast<std::uint64_t>(
            std::popcount(words_[limit / 64] & ((std::uint64_t{1} << (limit % 64)) - 1)));
    return limit - seen;
}

std::vector<std::uint64_t> SequenceLedger::first_lost(std::uint64_t sent) const {
    std::vector<std::uint64_t> numbers;
    const std::uint64_t limit = std::min(sent, capacity_);
    for (std::uint64_t at = 0; at < limit && numbers.size() < kNamed; ++at) {
        const std::uint64_t word = words_[at / 64];
        if (at % 64 == 0 && word == ~std::uint64_t{0})
            at += 63;
        else if (!(word >> (at % 64) & 1))
            numbers.push_back(at);
    }
    return numbers;
}

std::vector<std::uint64_t> SequenceLedger::first_duplicates() const {
    return {first_duplicates_, first_duplicates_ + std::min<std::uint64_t>(duplicates_, kNamed)};
}

support::Json SequenceLedger::to_json() const {
    const auto array = [](const std::vector<std::uint64_t>& numbers) {
        return support::JsonArray(numbers.begin(), numbers.end());
    };
    return support::JsonObject{{"distinct", distinct_},
                               {"duplicates", duplicates_},
                               {"reordered", reordered_},
                               {"beyond", beyond_},
                               {"frontier", frontier_},
                               {"lost_below_frontier", lost(frontier_)},
                               {"first_lost", array(first_lost(frontier_))},
                               {"first_duplicates", array(first_duplicates())}};
}

} // namespace mqcore::measure
