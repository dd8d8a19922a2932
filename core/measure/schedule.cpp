#include "measure/schedule.hpp"

namespace mqcore::measure {

support::Json to_json(const Schedule& schedule) {
    return support::JsonObject{{"start_ns", schedule.start_ns},
                               {"warmup_ns", schedule.warmup_ns},
                               {"window_ns", schedule.window_ns},
                               {"drain_ns", schedule.drain_ns},
                               {"interval_ns", schedule.interval_ns()}};
}

Schedule schedule_from_json(const support::Json& json) {
    return {.start_ns = support::unsigned_or(json, "start_ns", 0),
            .warmup_ns = support::unsigned_or(json, "warmup_ns", 0),
            .window_ns = support::unsigned_or(json, "window_ns", 0),
            .drain_ns = support::unsigned_or(json, "drain_ns", 0)};
}

} // namespace mqcore::measure
