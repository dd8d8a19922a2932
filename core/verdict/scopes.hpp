#pragma once
// Sets for Scope: kinds, loads and QoS levels by name. For the rows of the table alone.

#include "verdict/table.hpp"

namespace mqcore::verdict::scopes {

constexpr std::uint32_t bit(scenario::Kind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr std::uint32_t bit(Load load) { return 1u << static_cast<unsigned>(load); }

constexpr std::uint32_t kPub = bit(scenario::Kind::pub);
constexpr std::uint32_t kSub = bit(scenario::Kind::sub);
constexpr std::uint32_t kRtt = bit(scenario::Kind::rtt);
constexpr std::uint32_t kIdle = bit(scenario::Kind::idle);
constexpr std::uint32_t kDuplex = bit(scenario::Kind::duplex);
constexpr std::uint32_t kMessages = kPub | kSub | kRtt | kDuplex;
constexpr std::uint32_t kClientSends = kPub | kRtt | kDuplex;
constexpr std::uint32_t kClientReceives = kSub | kRtt | kDuplex;
constexpr std::uint32_t kPeerSends = kSub | kDuplex; // by a schedule of its own
constexpr std::uint32_t kAnyKind = kMessages | kIdle;

constexpr std::uint32_t kCapacity = bit(Load::capacity);
constexpr std::uint32_t kFixed = bit(Load::fixed);
constexpr std::uint32_t kIdling = bit(Load::idle);
constexpr std::uint32_t kLoaded = kCapacity | kFixed;
constexpr std::uint32_t kAnyLoad = kLoaded | kIdling;

constexpr std::uint32_t bit(Feature feature) { return 1u << static_cast<unsigned>(feature); }
constexpr std::uint32_t kFilters = bit(Feature::filters);
constexpr std::uint32_t kProperties = bit(Feature::properties);
constexpr std::uint32_t kTopicAlias = bit(Feature::topic_alias);

constexpr std::uint32_t kQos0 = 1;
constexpr std::uint32_t kQos12 = 6;
constexpr std::uint32_t kAnyQos = 7;

} // namespace mqcore::verdict::scopes
