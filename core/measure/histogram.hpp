#pragma once
// Log-linear latency histogram, the same in worker, peer and report: 64 buckets per power of two,
// so no bucket is wider than 1/64 (1.6 %) of its value. Values are nanoseconds from 0 to 2^40 - 1
// (18 minutes); larger ones are counted as `too_large` and never clamped into a bucket. Fixed
// memory, no allocation when recording; one recorder a thread, merged afterwards.

#include "support/json.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mqcore::measure {

class Histogram {
  public:
    static constexpr unsigned kSubBits = 6;    // 2^6 buckets per power of two
    static constexpr unsigned kValueBits = 40; // largest value is 2^40 - 1
    static constexpr std::size_t kBuckets = (kValueBits - kSubBits + 1) << kSubBits;

    static constexpr std::size_t bucket_of(std::uint64_t value) {
        if (value < (1u << kSubBits))
            return static_cast<std::size_t>(value);
        const unsigned shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kSubBits;
        return (static_cast<std::size_t>(shift) << kSubBits) +
               static_cast<std::size_t>(value >> shift);
    }
    static constexpr std::uint64_t lowest_of(std::size_t bucket) {
        if (bucket < (2u << kSubBits))
            return bucket;
        const std::size_t shift = (bucket >> kSubBits) - 1;
        return static_cast<std::uint64_t>(bucket - (shift << kSubBits)) << shift;
    }
    static constexpr std::uint64_t highest_of(std::size_t bucket) {
        return lowest_of(bucket + 1) - 1;
    }

    void record(std::uint64_t value) {
        if (value >> kValueBits) {
            ++too_large_;
            return;
        }
        ++buckets_[bucket_of(value)];
        ++count_;
        sum_ += value;
        if (value < min_)
            min_ = value;
        if (value > max_)
            max_ = value;
    }

    void merge(const Histogram& other);

    std::uint64_t count() const { return count_; }
    std::uint64_t too_large() const { return too_large_; }
    std::uint64_t bucket_count(std::size_t bucket) const { return buckets_[bucket]; }
    // Nothing when no value was recorded: an unknown latency is not 0.
    std::optional<std::uint64_t> min() const;
    std::optional<std::uint64_t> max() const;
    std::optional<double> mean() const;
    // The highest value that the bucket of the quantile (0 to 1) can hold, at most max().
    std::optional<std::uint64_t> quantile(double quantile) const;

    // Sparse: {"sub_bits", "count", "sum_ns", "min_ns", "max_ns", "too_large", "buckets": [[index, count], ...]}
    support::Json to_json() const;
    static support::Result<Histogram> from_json(const support::Json& json);

  private:
    std::array<std::uint64_t, kBuckets> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t too_large_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t min_ = ~std::uint64_t{0};
    std::uint64_t max_ = 0;
};

} // namespace mqcore::measure
