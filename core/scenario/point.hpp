#pragma once
// One point of a scenario: what is asked of a client, complete and checked. Plain data; loader.hpp
// makes it from a file. What a driver must be able to do for it is derived here, by one function.

#include "driver/descriptor.hpp"
#include "measure/offer.hpp"
#include "measure/specification.hpp"
#include "support/diagnostic.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mqcore::scenario {

// pub: the client publishes to the peer's sink. sub: the peer's source publishes to the client.
// rtt: the client sends requests, the peer's echo answers. duplex: pub and sub at once. idle: the client
// connects and waits.
enum class Kind { pub, sub, rtt, duplex, idle };

bool publishes(Kind kind);  // the client does
bool subscribes(Kind kind); // the client does

// MQTT 3.1.1 and 5, section 2.1.4 (2.2.3): the largest remaining length of a packet.
constexpr std::uint32_t kPacketBytesMax = 268'435'455;
// A fixed offer: from what measure::Offer can represent to more than any client has done.
constexpr double kRateMin = 0.01;
constexpr double kRateMax = 10'000'000;
// Longest prefix, in bytes and with its last '/', that a run puts before a point's topic. Topics
// and payloads are checked for it here; the session keeps to it.
constexpr std::size_t kRunPrefixBytesMax = 64;
constexpr std::uint32_t kTopicsMax = 10'000; // mqcore_message.topic has 16 bits
constexpr std::uint32_t kFiltersMax = 1'000; // fit one SUBSCRIBE of every library

struct Point {
    std::string id = {}; // [a-z0-9_]+
    Kind kind = Kind::pub;
    std::uint32_t qos = 0;
    std::uint32_t payload_bytes = 256;       // the largest one where `packets` are given
    std::vector<std::uint32_t> packets = {}; // remaining lengths in turn; empty: payload_bytes
    std::optional<double> rate = {};         // fixed offer, messages per second
    bool is_capacity = false;                // as fast as possible; neither: idle
    std::uint32_t window = 64;               // most unfinished messages of the client
    measure::Protocol protocol = measure::Protocol::v311;
    bool has_tls = false;
    bool is_direct = false; // the peer is the server, there is no broker
    measure::Pacing pacing = measure::Pacing::tick;
    std::uint32_t keepalive_s = 60;
    std::string topic = {};    // where messages go, under the run's own prefix
    std::uint32_t topics = 1;  // so many below it, in turn
    std::uint32_t filters = 1; // through which the client receives; above 1: a callback for each
    std::uint32_t receive_maximum = 0; // MQTT 5, of the client; 0: not sent
    bool has_topic_alias = false;
    measure::PublishProperties properties = {};
    std::string question = {};          // one sentence: what this point answers
    std::string suite = {};             // name of the scenario file's suite
    std::string file = {};              // as given on the command line, for messages
    std::uint32_t line = 0;             // of its [[point]]
    support::SourceRange id_range = {}; // of its id's value, for messages
};

// Options for drivers from [driver.ID] tables: driver id -> key -> value as text.
using DriverOptions = std::map<std::string, std::map<std::string, std::string>>;

struct Scenario {
    std::string suite;
    std::string title; // of the suite, for people; may be empty
    std::string file;
    std::string sha256; // of the file's content
    std::vector<Point> points;
    DriverOptions driver_options;
    std::map<std::string, support::SourceRange> driver_tables; // where each [driver.ID] stands
    std::string content; // of the file, for messages that quote it
};

std::string_view name_of(Kind kind); // "pub", "sub", "rtt", "duplex", "idle"
std::optional<Kind> kind_of(std::string_view name);

// What a driver lacks for a point, each as words for people ("QoS 2 publish", "MQTT 5"); empty: the
// pair is supported.
std::vector<std::string> missing_capabilities(const Point& point, const driver::Claims& claims);

} // namespace mqcore::scenario
