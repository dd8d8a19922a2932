#pragma once
// Topic names as MQTT allows them for publishing (3.1.1 and 5, sections 1.5.4 and 4.7).

#include <optional>
#include <string>
#include <string_view>

namespace mqcore::scenario {

struct TopicFault {
    std::optional<std::size_t> at; // byte of the topic; nothing: the topic as a whole
    bool is_fatal = true;          // false: allowed, but a broker may refuse it
    std::string what;              // "holds the wildcard '+'"
    std::string hint;              // what would be right; may be empty
};

// The first fault, a fatal one before others. `prefix_bytes` is what will stand before the topic.
std::optional<TopicFault> fault_of_topic(std::string_view topic, std::size_t prefix_bytes);

} // namespace mqcore::scenario
