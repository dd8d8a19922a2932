#include "measure/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace mqcore::measure {

using support::Json;
using support::JsonArray;
using support::JsonObject;

void Histogram::merge(const Histogram& other) {
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        buckets_[bucket] += other.buckets_[bucket];
    count_ += other.count_;
    too_large_ += other.too_large_;
    sum_ += other.sum_;
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
}

std::optional<std::uint64_t> Histogram::min() const {
    return count_ ? std::optional(min_) : std::nullopt;
}

std::optional<std::uint64_t> Histogram::max() const {
    return count_ ? std::optional(max_) : std::nullopt;
}

std::optional<double> Histogram::mean() const {
    return count_ ? std::optional(static_cast<double>(sum_) / static_cast<double>(count_))
                  : std::nullopt;
}

std::optional<std::uint64_t> Histogram::quantile(double quantile) const {
    if (count_ == 0)
        return std::nullopt;
    const auto rank = std::clamp<std::uint64_t>(
        static_cast<std::uint64_t>(std::ceil(quantile * static_cast<double>(count_))), 1, count_);
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if ((seen += buckets_[bucket]) >= rank)
            return std::min(highest_of(bucket), max_);
    return max_;
}

Json Histogram::to_json() const {
    JsonArray buckets;
    for (std::size_t bucket = 0; bucket < kBuckets; ++bucket)
        if (buckets_[bucket])
            buckets.push_back(JsonArray{bucket, buckets_[bucket]});
    JsonObject object{{"sub_bits", kSubBits}, {"count", count_}, {"sum_ns", sum_}};
    object["min_ns"] = count_ ? Json(min_) : Json(nullptr);
    object["max_ns"] = count_ ? Json(max_) : Json(nullptr);
    object["too_large"] = too_large_;
    object["buckets"] = std::move(buckets);
    return object;
}

support::Result<Histogram> Histogram::from_json(const Json& json) {
    const auto broken = [](const char* what) {
        return support::Error{
            support::ErrorCode::wrong_input, std::string("not a latency histogram: ") + what, {}};
    };
    const Json* buckets = support::find(json, "buckets");
    if (support::unsigned_or(json, "sub_bits", 0) != kSubBits)
        return broken("another bucket width");
    if (!buckets || !buckets->is_array())
        return broken("no array 'buckets'");
    Histogram histogram;
    for (const Json& pair : buckets->get_array()) {
        if (!pair.is_array() || pair.get_array().size() != 2 || !pair.get_array()[0].is_number() ||
            !pair.get_array()[1].is_number())
            return broken("a bucket is not [index, count]");
        boost::system::error_code bad_index, bad_count;
        const auto index = pair.get_array()[0].to_number<std::uint64_t>(bad_index);
        const auto count = pair.get_array()[1].to_number<std::uint64_t>(bad_count);
        if (bad_index || bad_count || index >= kBuckets)
            return broken("a bucket outside the range");
        histogram.buckets_[index] += count;
        histogram.count_ += count;
    }
    if (histogram.count_ != support::unsigned_or(json, "count", histogram.count_ + 1))
        return broken("'count' is not the sum of its buckets");
    histogram.too_large_ = support::unsigned_or(json, "too_large", 0);
    histogram.sum_ = support::unsigned_or(json, "sum_ns", 0);
    if (histogram.count_ == 0)
        return histogram;
    histogram.min_ = support::unsigned_or(json, "min_ns", 0);
    histogram.max_ = support::unsigned_or(json, "max_ns", 0);
    // What is told of the values themselves must fit the buckets that they went into.
    std::uint64_t least = 0, most = 0;
    std::optional<std::size_t> first, last;
    for (std::size_t index = 0; index < kBuckets; ++index)
        if (const std::uint64_t count = histogram.buckets_[index]) {
            least += count * lowest_of(index);
            most += count * highest_of(index);
            last = index;
            if (!first)
                first = index;
        }
    if (histogram.min_ >> kValueBits || bucket_of(histogram.min_) != first ||
        histogram.max_ >> kValueBits || bucket_of(histogram.max_) != last)
        return broken("'min_ns' or 'max_ns' is not in the outermost bucket");
    if (histogram.sum_ < least || histogram.sum_ > most)
        return broken("'sum_ns' cannot be the sum of such values");
    return histogram;
}

} // namespace mqcore::measure
