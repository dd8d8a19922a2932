#include "campaign/verify.hpp"

#include "campaign/plan.hpp"
#include "verdict/judge.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <set>
#include <tuple>

namespace mqcore::campaign {
namespace {

using support::Json;
using support::JsonArray;
using support::JsonObject;
using verdict::Node;

// A metric is computed in double; another compiler may round its last digit otherwise.
constexpr double kRounding = 1e-9;

using Values = std::map<std::string, Json>; // "metric rate": 1234.5

const JsonArray& items_of(Node array) {
    static const JsonArray kNone;
    return array && array.json()->is_array() ? array.json()->get_array() : kNone;
}

// The verdict part of a run as a flat list. Both sides go through this, the stored and the computed one.
Values values_of(const Json& verdict) {
    const Node root(&verdict);
    Values values;
    for (const char* key : {"status", "reason", "party", "regime"})
        values[key] = root[key] ? *root[key].json() : Json(nullptr);
    for (const auto& [kind, key] :
         {std::pair<std::string, const char*>{"check ", "checks"}, {"flag ", "flags"}})
        for (const Json& item : items_of(root[key])) {
            JsonObject rest = item.is_object() ? item.get_object() : JsonObject{};
            rest.erase("id");
            if (Node(&item).text("outcome") == "not_applicable")
                rest.erase("detail"); // where the check applies, as the table words it
            values[kind + Node(&item).text("id")] = std::move(rest);
        }
    const auto add_members = [&](const char* key, const std::string& form) {
        if (const Node node = root[key]; node && node.json()->is_object())
            for (const auto& [id, value] : node.json()->get_object())
                values[fmt::format(fmt::runtime(form), std::string(id))] = value;
    };
    add_members("metrics", "metric {}");
    add_members("metrics_unavailable", "why no metric {}");
    return values;
}

bool are_same(const Json& stored, const Json& computed) {
    if (!stored.is_number() || !computed.is_number())
        return stored == computed;
    const double a = stored.to_number<double>(), b = computed.to_number<double>();
    return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

// A text that another mqcore words otherwise says the same when its numbers are the same.
std::vector<std::string> numbers_in(std::string_view text) {
    std::vector<std::string> numbers;
    bool is_inside = false;
    for (const char c : text) {
        const bool is_digit = c >= '0' && c <= '9';
        if (is_digit && !is_inside)
            numbers.emplace_back();
        if (is_digit)
            numbers.back() += c;
        is_inside = is_digit;
    }
    return numbers;
}

bool are_worded_otherwise(const Json& stored, const Json& computed) {
    if (stored.is_string() && computed.is_string())
        return numbers_in(stored.get_string()) == numbers_in(computed.get_string());
    if (!stored.is_object() || !computed.is_object() ||
        stored.get_object().size() != computed.get_object().size())
        return false;
    return std::ranges::all_of(stored.get_object(), [&](const auto& member) {
        const Json* other = support::find(computed, member.key());
        return other &&
               (member.value() == *other ||
                (member.key() == "detail" && are_worded_otherwise(member.value(), *other)));
    });
}

// Rows whose whole value is a word of the format, not a text for people.
bool is_exact(const std::string& row) {
    return row == "status" || row == "party" || row == "regime" || row.starts_with("metric ");
}

std::string place_of(const Json& run) {
    const Node node(&run);
    const std::uint64_t attempt = node.count("attempt").value_or(1);
    return fmt::format("{}.json: {} run {}{}", node.text("client_name"), node.text("point"),
                       node.count("run").value_or(0),
                       attempt > 1 ? fmt::format(" attempt {}", attempt) : "");
}

// The rows that the mqcore of the campaign had: as its manifest says, or, before manifests said so, those
// that any of its runs has.
std::set<std::string> rows_known_to(const StoredCampaign& campaign) {
    std::set<std::string> rows;
    const Node table = Node(&campaign.manifest)["mqcore"]["table"];
    for (const auto& [kind, key] : {std::pair<std::string, const char*>{"check ", "checks"},
                                    {"flag ", "flags"},
                                    {"metric ", "metrics"}})
        for (const std::string& id : table.texts(key))
            rows.insert(kind + id);
    if (!table)
        for (const Json& run : campaign.runs)
            for (const auto& [row, value] : values_of(run))
                rows.insert(row);
    return rows;
}

class Verifier {
  public:
    explicit Verifier(const StoredCampaign& campaign)
        : campaign_(campaign), known_(rows_known_to(campaign)),
          context_(verdict::context_from_manifest(campaign.manifest)) {}

    Verification run() {
        for (const Json& run : campaign_.runs)
            judge_again(run);
        for (const auto& [row, runs] : added_later_)
            result_.notes.push_back(
                fmt::format("{} is not in the file (added later): {} runs", row, runs));
        for (const auto& [row, runs] : reworded_)
            result_.notes.push_back(
                fmt::format("{} is worded otherwise, with the same numbers: {} runs", row, runs));
        check_plan();
        for (const std::string& file : campaign_.unexpected_files)
            result_.faults.push_back(fmt::format("{}: of no client of the manifest", file));
        for (const std::string& file : campaign_.changed_files)
            result_.faults.push_back(
                fmt::format("{}: is not the file that the manifest has the hash of", file));
        return std::move(result_);
    }

  private:
    void judge_again(const Json& run);
    void check_plan();
    void check_attempts(bool is_finished);
    Node ceiling_of(Node spec) const;
    bool was_known(const std::string& row) const {
        return known_.contains(row) || !(row.starts_with("check ") || row.starts_with("flag ") ||
                                         row.starts_with("metric "));
    }

    const StoredCampaign& campaign_;
    std::set<std::string> known_;
    verdict::Context context_;
    Verification result_;
    std::map<std::string, std::size_t> added_later_, reworded_; // row: in how many runs
};

void Verifier::judge_again(const Json& run) {
    ++result_.runs;
    verdict::Judgement judgement = verdict::judge(run, context_);
    const Values stored = values_of(run);
    // A check that did not exist decided nothing then.
    std::erase_if(judgement.checks, [&](const verdict::CheckResult& check) {
        const std::string row = "check " + check.id;
        const bool is_new = !stored.contains(row) && !was_known(row);
        if (is_new)
            ++added_later_[row];
        return is_new;
    });
    verdict::decide(judgement);
    const Values computed = values_of(verdict::to_json(judgement));
    const auto differs = [&](const std::string& what, const std::string& was,
                             const std::string& is) {
        result_.differences.push_back({place_of(run), what, was, is});
    };
    for (const auto& [row, value] : computed) {
        ++result_.values;
        if (const auto found = stored.find(row); found != stored.end()) {
            if (are_same(found->second, value))
                continue;
            if (!is_exact(row) && are_worded_otherwise(found->second, value))
                ++reworded_[row];
            else
                differs(row, support::print_json(found->second), support::print_json(value));
        } else if (row.starts_with("why no ")) {
            continue; // goes with its metric
        } else if (was_known(row)) {
            differs(row, "nothing", support::print_json(value));
        } else {
            ++added_later_[row];
        }
    }
    for (const auto& [row, value] : stored)
        if (!computed.contains(row))
            differs(row, support::print_json(value), "nothing");
}

// The row of the manifest for the load of a point; nothing: there is none.
Node Verifier::ceiling_of(Node spec) const {
    const JsonArray& sizes = items_of(spec["payload_bytes"]);
    for (const Json& item : items_of(Node(&campaign_.manifest)["ceilings"])) {
        const Node ceiling(&item);
        if (ceiling.count("qos") == spec.count("qos") &&
            ceiling.text("protocol") == spec.text("protocol") && sizes.size() == 1 &&
            *ceiling["payload_bytes"].json() == sizes.front())
            return ceiling;
    }
    return {};
}

// An invalid run is tried once more, and nothing else is.
void Verifier::check_attempts(bool is_finished) {
    const std::uint64_t most = attempts_max(bool(Node(&campaign_.manifest)["profiler"]));
    std::map<std::string, std::map<std::uint64_t, const Json*>> by_run;
    for (const Json& document : campaign_.runs) {
        const Node run(&document);
        by_run[fmt::format("{}.json: {} run {}", run.text("client_name"), run.text("point"),
                           run.count("run").value_or(0))][run.count("attempt").value_or(1)] =
            &document;
    }
    for (const auto& [run, attempts] : by_run)
        for (const auto& [number, document] : attempts) {
            const bool is_invalid = Node(document).text("status") == "invalid";
            const bool has_next = attempts.contains(number + 1);
            if (number > most)
                result_.faults.push_back(fmt::format("{} has an attempt {}", run, number));
            else if (has_next && !is_invalid)
                result_.faults.push_back(
                    fmt::format("{} was tried again, and was not invalid", run));
            else if (is_finished && is_invalid && !has_next && number < most)
                result_.faults.push_back(fmt::format("{}: its second attempt is missing", run));
        }
}

void Verifier::check_plan() {
    const Node manifest(&campaign_.manifest);
    const bool is_finished = manifest.text("state") == "finished";
    const std::uint64_t planned = manifest["profile"].count("runs").value_or(1);
    const std::uint64_t most = manifest["until"].count("runs_max").value_or(planned);
    std::map<std::string, const Json*> points;
    for (const Json& point : items_of(manifest["points"]))
        points[Node(&point).text("id")] = &point;
    std::set<std::pair<std::string, std::string>> refused;
    for (const Json& pair : items_of(manifest["refused"]))
        refused.insert({Node(&pair).text("client"), Node(&pair).text("point")});

    const std::vector<std::string> reasons = manifest.texts("not_comparable_because");
    if (manifest.boolean("comparable") != reasons.empty())
        result_.faults.push_back(
            "manifest.json: 'comparable' is not what 'not_comparable_because' says");

    std::set<std::tuple<std::string, std::string, std::uint64_t, std::uint64_t>> seen;
    for (const Json& document : campaign_.runs) {
        const Node run(&document);
        const std::string client = run.text("client_name"), point = run.text("point");
        const std::uint64_t number = run.count("run").value_or(0);
        const auto fault = [&](const std::string& what) {
            result_.faults.push_back(fmt::format("{}: {}", place_of(document), what));
        };
        if (!seen.insert({client, point, number, run.count("attempt").value_or(1)}).second)
            fault("is there twice");
        if (number < 1 || number > std::max(planned, most) || refused.contains({client, point}))
            fault("was not planned");
        if (const auto found = points.find(point); found == points.end())
            fault("the manifest has no such point");
        else if (!run["spec"] || *run["spec"].json() != *found->second)
            fault("'spec' is not the manifest's point");
        if (run["schedule"])
            for (const char* length : {"warmup_ns", "window_ns", "drain_ns"})
                if (run["schedule"].count(length) != manifest["profile"].count(length))
                    fault(fmt::format("'schedule.{}' is not the profile's", length));
        if (run.boolean("comparable") != manifest.boolean("comparable"))
            fault("'comparable' is not the manifest's");
        // A later session may have added some.
        for (const std::string& reason : run.texts("not_comparable_because"))
            if (std::ranges::find(reasons, reason) == reasons.end())
                fault(fmt::format("the manifest does not know the reason '{}'", reason));
        if (const verdict::Number offer = run.number("receive_offer"))
            if (const Node ceiling = ceiling_of(run["spec"]);
                ceiling["receive_offer"] && ceiling.number("receive_offer") != offer)
                fault("'receive_offer' is not the manifest's");
    }
    check_attempts(is_finished);

    std::size_t missing = 0, all = 0;
    for (const Json& item : items_of(manifest["clients"]))
        for (const auto& [point, spec] : points) {
            const std::string client = Node(&item).text("id");
            if (refused.contains({client, point}))
                continue;
            for (std::uint64_t number = 1; number <= planned; ++number) {
                ++all;
                if (seen.contains({client, point, number, 1}))
                    continue;
                ++missing;
                if (is_finished)
                    result_.faults.push_back(
                        fmt::format("{}.json: {} run {} is missing", client, point, number));
            }
        }
    if (!is_finished)
        result_.notes.push_back(fmt::format("the campaign is {}: {} of {} planned runs are there",
                                            manifest.text("state"), all - missing, all));
}

} // namespace

Verification verify(const StoredCampaign& campaign) { return Verifier(campaign).run(); }

} // namespace mqcore::campaign
