#pragma once
// Does a topic filter match a topic name? (3.1.1 section 4.7)

#include <string_view>

namespace mqcore::peer {

// Both well-formed. A filter that begins with a wildcard does not match a topic that begins with '$'.
inline bool matches(std::string_view filter, std::string_view topic) {
    if (!topic.empty() && topic.front() == '$' && !filter.empty() && filter.front() != '$')
        return false;
    for (;;) {
        if (filter == "#")
            return true;
        const std::size_t filter_end = filter.find('/');
        const std::size_t topic_end = topic.find('/');
        const std::string_view level = filter.substr(0, filter_end);
        if (level != "+" && level != topic.substr(0, topic_end))
            return false;
        const bool filter_ends = filter_end == std::string_view::npos;
        const bool topic_ends = topic_end == std::string_view::npos;
        // "sport/#" matches "sport" as well (section 4.7.1.2).
        if (topic_ends)
            return filter_ends || filter.substr(filter_end) == "/#";
        if (filter_ends)
            return false;
        filter.remove_prefix(filter_end + 1);
        topic.remove_prefix(topic_end + 1);
    }
}

} // namespace mqcore::peer
