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
const std::vector<std::string_view> kMessaging = {"pub", "sub", "rtt"};
const std::vector<std::string_view> kSending = {"pub", "rtt"};

constexpr double kNameCharactersMax = 64; // names of folders and files of results

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
         .words = {"pub", "sub", "rtt", "idle"},
         .presence = Presence::required,
         .example = "\"pub\"",
         .help = "what the client does: publishes (pub), receives (sub), waits for the answers to "
                 "its requests (rtt), or only stays connected (idle)",
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
         .fallback = "\"256B\"",
         .example = "\"256B\"",
         .help = "size of every message's payload; from 20B on it carries stamp, sequence number "
                 "and run tag",
         .mistaken_for = {"size", "payload_bytes", "payload_size", "message_size", "bytes"}},
        {.name = "rate",
         .type = KeyType::rate,
         .min = kRateMin,
         .max = kRateMax,
         .cases = kMessaging,
         .example = "\"2000/s\"",
         .help = "fixed offer: the same absolute load for every client; excludes load",
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
        {.name = "protocol",
         .type = KeyType::word,
         .words = {"3.1.1", "5"},
         .fallback = "\"3.1.1\"",
         .example = "\"5\"",
         .help = "version of MQTT",
         .mistaken_for = {"version", "mqtt", "mqtt_version"}},
        {.name = "tls",
         .type = KeyType::boolean,
         .fallback = "false",
         .example = "true",
         .help = "client and peer connect over TLS and verify the broker's certificate",
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
     .hint = "a fixed offer has a rate, capacity has a load: remove one of them"}};

// Whatever describes several points alike may be said once.
std::vector<SchemaKey> default_keys() {
    std::vector<SchemaKey> keys = point_keys();
    std::erase_if(keys, [](const SchemaKey& key) {
        return key.presence == Presence::required || key.name == "question";
    });
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
             .help = "Options for the driver of that id: keys that the driver documents, each with "
                     "a text, a number, or true or false.",
             .keys = {}},
        }};
}

} // namespace

const support::Schema& scenario_schema() {
    static const support::Schema schema = make_schema();
    return schema;
}

} // namespace mqcore::scenario
