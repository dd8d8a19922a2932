#pragma once
// How a driver's id and the claims of the ABI are spelt in driver.toml and for people: one table each
// way.

#include "mqcore/driver.h"

#include <cstdint>
#include <string_view>

namespace mqcore::driver {

// Letters a-z, digits and '-', at least one: the id of a driver, the name of a variant.
constexpr bool is_id(std::string_view text) {
    return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
                                std::string_view::npos;
}

struct ClaimName {
    std::uint32_t value; // a value or a bit of mqcore/driver.h
    std::string_view name;
};

inline constexpr ClaimName kShapeNames[] = {{MQCORE_SHAPE_SYNC, "sync"},
                                            {MQCORE_SHAPE_NOWAIT, "nowait"},
                                            {MQCORE_SHAPE_AWAITED, "awaited"}};

inline constexpr ClaimName kProtocolNames[] = {{MQCORE_V311, "3.1.1"}, {MQCORE_V5, "5"}};

inline constexpr ClaimName kQos0CompletionNames[] = {{MQCORE_QOS0_HANDED_OVER, "handed over"},
                                                     {MQCORE_QOS0_WRITTEN, "written"},
                                                     {MQCORE_QOS0_DRAINED, "drained"}};

inline constexpr ClaimName kFeatureNames[] = {
    {MQCORE_FEATURE_TLS, "tls"},
    {MQCORE_FEATURE_FILTER_CALLBACKS, "filter-callbacks"},
    {MQCORE_FEATURE_PUBLISH_PROPERTIES, "publish-properties"},
    {MQCORE_FEATURE_TOPIC_ALIAS, "topic-alias"},
    {MQCORE_FEATURE_RECEIVE_MAXIMUM, "receive-maximum"},
    {MQCORE_FEATURE_MANY_CONNECTIONS, "many-connections"}};

} // namespace mqcore::driver
