#include "session/cpu_series.hpp"

namespace mqcore::session {
namespace {

using support::Json;
using support::JsonArray;
using support::Nanoseconds;

constexpr Nanoseconds kMicrosecond = 1000;

// What a broken-off run never reached.
Json without_nulls_at_end(JsonArray list) {
    while (!list.empty() && list.back().is_null())
        list.pop_back();
    return list;
}

} // namespace

Json CpuSeries::to_json() const {
    JsonArray late;
    for (std::size_t bound = 0; bound < bounds_.size(); ++bound)
        late.push_back(readings_[bound]
                           ? Json((readings_[bound]->at - bounds_[bound]) / kMicrosecond)
                           : Json(nullptr));
    return support::JsonObject{{"late_us", without_nulls_at_end(std::move(late))},
                               {"client_cpu_us", use_of(&Reading::client)},
                               {"broker_cpu_us", use_of(&Reading::broker)}};
}

// Differences of rounded times instead of rounded differences: what is lost in one is in the next.
Json CpuSeries::use_of(std::optional<Nanoseconds> Reading::*party) const {
    JsonArray list;
    std::optional<Nanoseconds> last;
    bool has_any = false;
    for (std::size_t bound = 0; bound < readings_.size(); ++bound) {
        const auto now = readings_[bound] ? (*readings_[bound]).*party : std::nullopt;
        if (bound > 0)
            list.push_back(now && last ? Json(*now / kMicrosecond - *last / kMicrosecond)
                                       : Json(nullptr));
        has_any |= now && last;
        last = now ? now : last;
    }
    return has_any ? without_nulls_at_end(std::move(list)) : Json(nullptr);
}

} // namespace mqcore::session
