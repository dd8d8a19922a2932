#include "scenario/keys.hpp"

#include "measure/specification.hpp"
#include "scenario/point.hpp"

#include <algorithm>

namespace mqcore::scenario {
namespace {

using support::KeyType;
using support::Presence;
using support::SchemaKey;
using support::SchemaTable;
using support::TableForm;

// Kinds in which messages flow, and those in which the client is the one that sends them.
const std::vector<std::string_view> kMessaging = {"pub", "sub", "rtt", "duplex"};
const std::vector<std::string_view> kSending = {"pub", "rtt", "duplex"};
const std::vector<std::string_view> kOneWay = {"pub", "sub"};
const std::vector<std::string_view> kReceiving = {"sub"};

constexpr double kNameCharactersMax = 64; // names of folders and files of results
constexpr double kPropertyCharactersMax = 4096;

std::vector<SchemaKey> point_keys() {
    return {
        {.name = "id",
         .type = KeyType::text,
         .max = kNameCharactersMax,
         .letters = "a-z0-9_",
         .presence = Presence::required,
         .example = "\"pub_qos1_fixed\"",
         .help = "name of the point in commands and results, unique over all files "
                 "of a run",
         .mistaken_for = {"name", "point"}},
        {.name = "kind",
         .type = KeyType::word,
         .words = {"pub", "sub", "rtt", "duplex", "idle"},
         .presence = Presence::required,
         .example = "\"pub\"",
         .help = "what the client does: publishes (pub), receives (sub), waits for the answers to "
                 "its requests (rtt), publishes and receives at once (duplex), or only stays "
                 "connected (idle)",
         .mistaken_for = {"type", "mode"}},
        {.name = "question",
         .type = KeyType::text,
         .example = "\"What does publishing at a fixed rate cost?\"",
         .help = "one sentence: what the point answers"},
        {.name = "qos",
         .type = KeyType::integer,
         .min = 0,
         .max = 2,
         .cases = kMessaging,
         .fallback = "0",
         .example = "1",
         .help = "quality of service of every message of the point",
         .mistaken_for = {"quality"}},
        {.name = "payload",
         .type = KeyType::bytes,
         .min = 0,
         .max = kPacketBytesMax,
         .cases = kMessaging,
         .can_sweep = true,
         .fallback = "\"256B\"",
         .example = "\"256B\"",
         .help = "size of every message's payload; from 20B on it carries stamp, sequence number "
                 "and run tag",
         .mistaken_for = {"size", "payload_bytes", "payload_size", "message_size", "bytes"}},
        {.name = "packets",
         .type = KeyType::sizes,
         .min = 2,
         .max = kPacketBytesMax,
         .cases = kOneWay,
         .example = "[\"127B\", \"128B\"]",
         .help = "remaining lengths of the PUBLISH packets, in turn, instead of one payload: each "
                 "message has the payload that makes its packet this long",
         .mistaken_for = {"packet_sizes", "remaining_lengths"}},
        {.name = "rate",
         .type = KeyType::rate,
         .min = kRateMin,
         .max = kRateMax,
         .cases = kMessaging,
         .can_sweep = true,
         .example = "\"2000/s\"",
         .help = "fixed offer: the same absolute load for every client, on duplex points each way; "
                 "excludes load",
         .mistaken_for = {"msgs_per_s", "frequency", "throughput", "offer"}},
        {.name = "load",
         .type = KeyType::word,
         .words = {"capacity"},
         .cases = kMessaging,
         .example = "\"capacity\"",
         .help = "as many messages as the sender can; excludes rate",
         .mistaken_for = {"capacity"}},
        {.name = "window",
         .type = KeyType::integer,
         .min = 1,
         .max = 65535,
         .cases = kSending,
         .can_sweep = true,
         .fallback = "64",
         .example = "64",
         .help = "most messages that the client has sent and not completed; MQTT has 65,535 packet "
                 "identifiers",
         .mistaken_for = {"inflight", "in_flight", "max_inflight", "concurrency"}},
        {.name = "pacing",
         .type = KeyType::word,
         .words = {"tick", "each"},
         .cases = kMessaging,
         .fallback = "\"tick\"",
         .example = "\"tick\"",
         .help = "when a paced sender wakes: every millisecond for all that is due (tick), or for "
                 "each message at its own time (each); results of the two are never compared"},
        {.name = "topic",
         .type = KeyType::text,
         .cases = kMessaging,
         .fallback = "\"data\"",
         .example = "\"plant/line 4/temperature\"",
         .help = "where messages are published, below a prefix of the run's own; no wildcards"},
        {.name = "topics",
         .type = KeyType::integer,
         .min = 1,
         .max = kTopicsMax,
         .cases = kOneWay,
         .can_sweep = true,
         .fallback = "1",
         .example = "1000",
         .help = "messages go to so many topics below 'topic' in turn; they are received through "
                 "one wildcard, or through 'filters'",
         .mistaken_for = {"topic_count", "fanout"}},
        {.name = "filters",
         .type = KeyType::integer,
         .min = 1,
         .max = kFiltersMax,
         .cases = kReceiving,
         .fallback = "1",
         .example = "100",
         .help = "the client receives through so many filters, each with a callback of its own in "
                 "the library; divides 'topics'",
         .mistaken_for = {"callbacks", "filter_callbacks", "subscriptions"}},
        {.name = "protocol",
         .type = KeyType::word,
         .words = {"3.1.1", "5"},
         .fallback = "\"3.1.1\"",
         .example = "\"5\"",
         .help = "version of MQTT",
         .mistaken_for = {"version", "mqtt", "mqtt_version"}},
        {.name = "receive_maximum",
         .type = KeyType::integer,
         .min = 1,
         .max = 65535,
         .cases = kMessaging,
         .example = "16",
         .help = "MQTT 5: most QoS 1 and 2 deliveries that the client lets stay unacknowledged",
         .mistaken_for = {"receive_max"}},
        {.name = "topic_alias",
         .type = KeyType::boolean,
         .cases = kSending,
         .fallback = "false",
         .example = "true",
         .help = "MQTT 5: the client sends the topic once and an alias with an empty topic from "
                 "then on",
         .mistaken_for = {"alias"}},
        {.name = "content_type",
         .type = KeyType::text,
         .max = kPropertyCharactersMax,
         .cases = kOneWay,
         .example = "\"application/json\"",
         .help = "MQTT 5: property of every message"},
        {.name = "response_topic",
         .type = KeyType::text,
         .max = kPropertyCharactersMax,
         .cases = kOneWay,
         .example = "\"plant/answers\"",
         .help = "MQTT 5: property of every message"},
        {.name = "correlation_data",
         .type = KeyType::text,
         .max = kPropertyCharactersMax,
         .cases = kOneWay,
         .example = "\"request-17\"",
         .help = "MQTT 5: property of every message"},
        {.name = "user_properties",
         .type = KeyType::texts,
         .max = kPropertyCharactersMax,
         .cases = kOneWay,
         .example = "[\"unit=kelvin\"]",
         .help = "MQTT 5: user properties of every message, each as name=value",
         .mistaken_for = {"user_property", "properties"}},
        {.name = "tls",
         .type = KeyType::boolean,
         .fallback = "false",
         .example = "true",
         .help = "the client connects over TLS and verifies the broker's certificate",
         .mistaken_for = {"ssl"}},
        {.name = "keepalive",
         .type = KeyType::seconds,
         .min = 0,
         .max = 65535,
         .fallback = "\"60s\"",
         .example = "\"60s\"",
         .help = "MQTT keep alive in whole seconds; 0 switches it off",
         .mistaken_for = {"keep_alive", "keepalive_s"}},
    };
}

// A point is paced or runs at capacity.
const std::vector<support::Exclusion> kOfferExclusions = {
    {.one = "rate",
     .other = "load",
     .hint = "a fixed offer has a rate, capacity has a load: remove one of them"},
    {.one = "payload",
     .other = "packets",
     .hint = "'packets' says how long each packet is, and so its payload: remove one of them"}};

// Whatever describes several points alike may be said once.
std::vector<SchemaKey> default_keys() {
    std::vector<SchemaKey> keys = point_keys();
    std::erase_if(keys, [](const SchemaKey& key) {
        return key.presence == Presence::required || key.name == "question";
    });
    for (SchemaKey& key : keys)
        key.can_sweep = false; // a list makes points, and these are none
    return keys;
}

support::Schema make_schema() {
    return {
        .title = "mqcore scenario",
        .help = "A scenario is a TOML file of points: what is asked of a client library.",
        .all_keys = "mqcore validate --keys",
        .tables = {
            {.name = "suite",
             .form = TableForm::single,
             .presence = Presence::required,
             .help = "What the points of this file have in common.",
             .keys = {{.name = "name",
                       .type = KeyType::text,
                       .max = kNameCharactersMax,
                       .letters = "a-z0-9_",
                       .presence = Presence::required,
                       .example = "\"core\"",
                       .help = "name of the suite in commands and results",
                       .mistaken_for = {"id"}},
                      {.name = "broker",
                       .type = KeyType::word,
                       .words = {"session", "direct"},
                       .fallback = "\"session\"",
                       .example = "\"direct\"",
                       .help =
                           "what the client connects to: the broker of the session, or directly "
                           "to the peer, which then is the server; the two are never compared"},
                      {.name = "title",
                       .type = KeyType::text,
                       .example = "\"The core points\"",
                       .help = "one line for people",
                       .mistaken_for = {"description"}}}},
            {.name = "defaults",
             .form = TableForm::single,
             .help = "Keys that every point has unless it says otherwise. A key without a meaning "
                     "for a point's kind is not handed down to it.",
             .keys = default_keys(),
             .exclusions = kOfferExclusions,
             .same_keys_as = "point"},
            {.name = "point",
             .form = TableForm::list,
             .presence = Presence::required,
             .label_key = "id",
             .case_key = "kind",
             .help = "Each is one question that every client is asked.",
             .keys = point_keys(),
             .exclusions = kOfferExclusions},
            {.name = "driver",
             .form = TableForm::options,
             .help = "Options for the driver of that id and its variants: keys that the driver "
                     "documents, each with a text, a number, or true or false.",
             .keys = {}},
        }};
}

} // namespace

const support::Schema& scenario_schema() {
    static const support::Schema schema = make_schema();
    return schema;
}

} // namespace mqcore::scenario
