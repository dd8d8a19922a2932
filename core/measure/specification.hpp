#pragma once
// What the orchestrator asks of a worker and of a peer for one run, as it crosses the control channel.
// Plain data with a JSON form; docs/architecture.md describes the dialogue around it.

#include "measure/offer.hpp"
#include "support/json.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mqcore::measure {

enum class Protocol { v311, v5 };

std::string_view name_of(Protocol protocol); // "3.1.1", "5"
std::optional<Protocol> protocol_of(std::string_view name);

// Where and how to connect.
struct Endpoint {
    std::string host;
    std::uint16_t port = 0;
    std::string ca_file;                    // empty: plain TCP
    std::string certificate_file, key_file; // of a peer that is the server; empty: plain TCP
    Protocol protocol = Protocol::v311;
    std::string client_id;
    std::uint32_t keepalive_s = 60;
    std::uint32_t receive_maximum = 0; // MQTT 5; 0: property not sent
};

// Properties that every PUBLISH of a sender carries (MQTT 5 section 3.3.2.3). Empty: not sent.
struct PublishProperties {
    std::string content_type = {};
    std::string response_topic = {};
    std::string correlation_data = {};
    std::vector<std::pair<std::string, std::string>> user = {};

    bool is_empty() const {
        return content_type.empty() && response_topic.empty() && correlation_data.empty() &&
               user.empty();
    }
    bool operator==(const PublishProperties&) const = default;
};

// Messages that one party sends: paced or at capacity, with sequence numbers from 0.
struct SendSpec {
    std::vector<std::string> topics;          // round robin by sequence number
    std::vector<std::uint32_t> payload_bytes; // round robin by sequence number
    std::uint32_t qos = 0;
    std::optional<double> rate; // messages per second; nothing: capacity
    Pacing pacing = Pacing::tick;
    std::uint32_t window = 64; // most unfinished messages
    std::uint32_t tag = 0;
    std::optional<std::uint64_t>
        limit; // stop after so many messages; nothing: the schedule ends it
    PublishProperties properties = {};
    // MQTT 5 section 3.3.2.3.4: each connection's first message sets this alias for topics[0], every
    // later one carries the alias and an empty topic. 0: none.
    std::uint16_t topic_alias = 0;
};

// Messages that one party receives.
struct ReceiveSpec {
    std::vector<std::string> filters;
    std::uint32_t qos = 0;
    std::uint32_t tag = 0;
    std::vector<std::uint32_t> payload_bytes; // of the sender, round robin by sequence number
    std::optional<double> rate;               // of the sender's fixed offer
    PublishProperties properties = {};        // of the sender
    // Of the sender. With several filters, topic n of them belongs to filter n modulo their number.
    std::uint32_t topics = 1;
};

// The client worker's task. A round trip sends and receives; a receive point only receives.
struct WorkerSpec {
    std::string driver_file;   // the shared library
    std::string driver_folder; // holds driver.toml
    std::string environment;   // folder of the language environment; empty: none
    Endpoint endpoint;
    std::uint32_t connections = 1;
    std::optional<SendSpec> send;
    std::optional<ReceiveSpec> receive;
    std::vector<std::pair<std::string, std::string>> options; // [driver.ID] of the scenario
};

// The peer's task. sink: receive. source: send. echo: republish each request as it came. duplex: sink
// and source at once, on one connection.
// probe: subscribe to the broker's $SYS counters and report readings on demand. server: listen on
// loopback and play the broker's part, for tests and check-driver.
enum class PeerRole { sink, source, echo, duplex, probe, server };

std::string_view name_of(PeerRole role);
std::optional<PeerRole> peer_role_of(std::string_view name);

// What a server answers. accept, grant and normal are what a broker does.
enum class ConnackAnswer { accept, refuse, never };
enum class SubackAnswer {
    grant,
    refuse,
    lower
};                                            // refuse: 0x80; lower: one QoS below what was asked
enum class PubackAnswer { normal, withhold }; // withhold: neither PUBACK nor PUBREC nor PUBCOMP

std::string_view name_of(ConnackAnswer answer);
std::string_view name_of(SubackAnswer answer);
std::string_view name_of(PubackAnswer answer);

// How a server departs from a broker's behaviour, on every connection alike.
struct ServerBehaviour {
    ConnackAnswer connack = ConnackAnswer::accept;
    std::uint32_t connack_code = 5; // of a refusal: return code (3.1.1) or reason code (5)
    std::uint32_t connack_delay_ms = 0;
    SubackAnswer suback = SubackAnswer::grant;
    std::uint32_t suback_delay_ms = 0;
    PubackAnswer puback = PubackAnswer::normal;
    std::optional<std::uint64_t> stop_reading_after =
        std::nullopt; // PUBLISH packets; 0: CONNECT is the last read
    std::optional<std::uint64_t> drop_connection_after =
        std::nullopt;                  // PUBLISH packets; 0: right after CONNACK
    std::uint32_t receive_maximum = 0; // MQTT 5; 0: property not sent
};

struct PeerSpec {
    PeerRole role = PeerRole::sink;
    // The peer is the server itself: the client connects to it and there is no broker. sink, source,
    // echo or duplex; a sink without `receive` holds an idle connection.
    bool is_direct = false;
    Endpoint endpoint;                  // server: not needed
    std::optional<SendSpec> send;       // source, duplex; echo: topics[0] is where replies go
    std::optional<ReceiveSpec> receive; // sink, echo, duplex
    std::optional<ServerBehaviour> behaviour = std::nullopt; // server
};

support::Json to_json(const WorkerSpec& spec);
support::Json to_json(const PeerSpec& spec);
support::Result<WorkerSpec> worker_spec_from_json(const support::Json& json);
support::Result<PeerSpec> peer_spec_from_json(const support::Json& json);

} // namespace mqcore::measure
