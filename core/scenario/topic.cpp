#include "scenario/topic.hpp"

#include "support/text.hpp"

#include <fmt/format.h>

namespace mqcore::scenario {
namespace {

constexpr std::size_t kTopicBytesMax = 65535; // MQTT 1.5.3: length of a UTF-8 encoded string

std::optional<TopicFault> fatal_fault(std::string_view topic, std::size_t prefix_bytes);
std::optional<TopicFault> doubtful_character(std::string_view topic);

} // namespace

std::optional<TopicFault> fault_of_topic(std::string_view topic, std::size_t prefix_bytes) {
    const auto fault = fatal_fault(topic, prefix_bytes);
    return fault ? fault : doubtful_character(topic);
}

namespace {

std::optional<TopicFault> fatal_fault(std::string_view topic, std::size_t prefix_bytes) {
    if (topic.empty())
        return TopicFault{
            .at = {}, .is_fatal = true, .what = "is empty", .hint = "write at least one character"};
    std::size_t bad_at = 0;
    if (!support::is_utf8(topic, &bad_at))
        return TopicFault{.at = bad_at, .is_fatal = true, .what = "is not valid UTF-8", .hint = {}};
    if (const std::size_t at = topic.find('\0'); at != std::string_view::npos)
        return TopicFault{
            .at = at, .is_fatal = true, .what = "holds U+0000, which MQTT forbids", .hint = {}};
    if (const std::size_t at = topic.find_first_of("+#"); at != std::string_view::npos)
        return TopicFault{.at = at,
                          .is_fatal = true,
                          .what = fmt::format("holds the wildcard '{}'", topic[at]),
                          .hint = "messages are published to one topic: write it without + and #"};
    if (topic.size() + prefix_bytes > kTopicBytesMax)
        return TopicFault{.at = {},
                          .is_fatal = true,
                          .what = fmt::format("has {} bytes", support::format_count(topic.size())),
                          .hint = fmt::format(
                              "with the run's prefix of up to {} bytes it may have {}",
                              prefix_bytes, support::format_count(kTopicBytesMax - prefix_bytes))};
    return std::nullopt;
}

// MQTT 1.5.4: control characters and non-characters should not be used, and who receives one may
// close the connection. Mosquitto does. The text is valid UTF-8 here.
std::optional<TopicFault> doubtful_character(std::string_view topic) {
    for (std::size_t at = 0; at < topic.size();) {
        const auto first = static_cast<unsigned char>(topic[at]);
        const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        char32_t point = length == 1 ? first : first & (0x7Fu >> length);
        for (std::size_t i = 1; i < length; ++i)
            point = point << 6 | (static_cast<unsigned char>(topic[at + i]) & 0x3Fu);
        const bool is_control = point < 0x20 || (point >= 0x7F && point < 0xA0);
        const bool is_no_character =
            (point >= 0xFDD0 && point <= 0xFDEF) || (point & 0xFFFEu) == 0xFFFEu;
        if (is_control || is_no_character)
            return TopicFault{
                .at = at,
                .is_fatal = false,
                .what = fmt::format("holds U+{:04X}; a broker may close the connection for it",
                                    static_cast<std::uint32_t>(point)),
                .hint = "MQTT 1.5.4 advises against control characters and non-characters"};
        at += length;
    }
    return std::nullopt;
}

} // namespace
} // namespace mqcore::scenario
