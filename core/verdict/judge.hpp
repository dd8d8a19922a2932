#pragma once
// Judging one run: a pure function of the raw run document and the campaign's manifest, so that anybody
// can compute a result file's verdicts again. Reads no clock, no file and no process.

#include "verdict/context.hpp"
#include "verdict/table.hpp"

#include <string>
#include <vector>

namespace mqcore::verdict {

struct CheckResult {
    std::string id;
    Finding finding;
};

struct FlagResult {
    std::string id;
    std::string detail;
};

struct MetricResult {
    std::string id;
    MetricValue metric;
};

struct Judgement {
    Status status = Status::valid;
    std::string reason;         // one line; empty when valid
    std::optional<Party> party; // whom the deciding check blames; nothing when valid or unsupported
    std::string regime;         // "sleeping", "mixed", "saturated"; empty: the client paced nothing
    std::vector<CheckResult> checks;   // every entry of the table, in its order
    std::vector<FlagResult> flags;     // the raised ones
    std::vector<MetricResult> metrics; // those that apply to the point
};

// unsupported when a party said that it cannot do what the point needs. Else invalid when any check
// found so, whatever else failed: the conditions were not the agreed ones, and that says nothing about
// the client. Else not_sustained when any check found that, else valid. The
// reason is the first check (table order) that found what was decided.
Judgement judge(const support::Json& run, const Context& context);
// Sets status, reason and party from the checks that the judgement holds; judge() ends with it.
void decide(Judgement& judgement);

// {"status", "reason", "party", "regime", "checks", "flags", "metrics", "metrics_unavailable"}
support::JsonObject to_json(const Judgement& judgement);

// Judges and writes the verdict part into the document, replacing an older one.
Judgement judge_into(support::Json& run, const Context& context);

} // namespace mqcore::verdict
