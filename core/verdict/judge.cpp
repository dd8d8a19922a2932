#include "verdict/judge.hpp"

#include "verdict/limits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;

CheckResult make_check(const CheckEntry& entry, const RunView& run, const Context& context) {
    if (entry.scope.covers(run))
        return {entry.id, entry.find(run, context)};
    return {entry.id, Finding{.outcome = Outcome::not_applicable,
                              .detail = "applies to " + in_words(entry.scope),
                              .party = {},
                              .status = Status::valid}};
}

// How often the sender could have waited for a fixed schedule, against how often it did.
std::string regime_of(const RunView& run) {
    if (!run.is_sent_by_client() || run.load != Load::fixed || !run.worker.send ||
        !run.worker.send->slept || !run.rate)
        return {};
    const double slept = static_cast<double>(*run.worker.send->slept);
    const double seconds = static_cast<double>(run.sending_ns) * 1e-9;
    const double ticks = static_cast<double>(run.sending_ns) / static_cast<double>(measure::kTick);
    const double messages = *run.rate * seconds;
    const double waits = run.pacing == measure::Pacing::tick ? std::min(ticks, messages) : messages;
    return slept == 0 ? "saturated" : slept >= kSleepingShare * waits ? "sleeping" : "mixed";
}

Json text_or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

} // namespace

Judgement judge(const Json& document, const Context& context) {
    const RunView run(document);
    Judgement judgement;
    judgement.regime = regime_of(run);
    for (const CheckEntry& entry : checks())
        judgement.checks.push_back(make_check(entry, run, context));
    for (const FlagEntry& entry : flags())
        if (entry.scope.covers(run))
            if (std::optional<std::string> detail = entry.raise(run, context))
                judgement.flags.push_back({entry.id, *std::move(detail)});
    for (const MetricEntry& entry : metrics())
        if (entry.scope.covers(run))
            judgement.metrics.push_back({entry.id, entry.compute(run)});
    decide(judgement);
    return judgement;
}

void decide(Judgement& judgement) {
    judgement.status = Status::valid;
    judgement.party.reset();
    judgement.reason.clear();
    for (const Status deciding : {Status::unsupported, Status::invalid, Status::not_sustained})
        for (const CheckResult& check : judgement.checks)
            if (check.finding.status == deciding) {
                judgement.status = deciding;
                judgement.party = check.finding.party;
                judgement.reason = fmt::format("{}: {}", check.id, check.finding.detail);
                return;
            }
}

JsonObject to_json(const Judgement& judgement) {
    JsonArray checks;
    for (const CheckResult& check : judgement.checks)
        checks.push_back(JsonObject{
            {"id", check.id},
            {"outcome", name_of(check.finding.outcome)},
            {"detail", check.finding.detail},
            {"party", check.finding.party ? Json(name_of(*check.finding.party)) : Json(nullptr)}});
    JsonArray flags;
    for (const FlagResult& flag : judgement.flags)
        flags.push_back(JsonObject{{"id", flag.id}, {"detail", flag.detail}});
    JsonObject metrics;
    JsonObject unavailable;
    for (const auto& [id, metric] : judgement.metrics) {
        metrics[id] = metric.value ? Json(*metric.value) : Json(nullptr);
        if (!metric.value)
            unavailable[id] = metric.unavailable;
    }
    JsonObject object{{"status", name_of(judgement.status)},
                      {"reason", text_or_null(judgement.reason)}};
    object["party"] = judgement.party ? Json(name_of(*judgement.party)) : Json(nullptr);
    object["regime"] = text_or_null(judgement.regime);
    object["checks"] = std::move(checks);
    object["flags"] = std::move(flags);
    object["metrics"] = std::move(metrics);
    object["metrics_unavailable"] = std::move(unavailable);
    return object;
}

Judgement judge_into(Json& run, const Context& context) {
    Judgement judgement = judge(run, context);
    if (run.is_object())
        for (auto& [key, value] : to_json(judgement))
            run.get_object()[key] = value;
    return judgement;
}

} // namespace mqcore::verdict
