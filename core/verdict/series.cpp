#include "verdict/series.hpp"

#include "measure/offer.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using measure::Intervals;
using support::Json;

constexpr std::uint64_t kMicrosecond = 1000;

// What a file may ask for at most: a day in tenths of a second.
constexpr std::uint64_t kMostIntervals = 864'000;
constexpr double kLowestRate = 0.01; // of an Offer

std::optional<Intervals> intervals_of(const RunView& run) {
    const Node node = run.raw["schedule"];
    const Count length = node.count("interval_ns");
    if (!length || *length == 0)
        return std::nullopt;
    const measure::Schedule schedule = measure::schedule_from_json(*node.json());
    if ((schedule.end() - schedule.start_ns) / *length > kMostIntervals)
        return std::nullopt;
    return Intervals(schedule, *length);
}

// The list as it stands, a null as nothing.
Column list_in(Node node, std::string_view key) {
    Column values;
    if (const Node list = node[key]; list && list.json()->is_array())
        for (const Json& item : list.json()->get_array()) {
            boost::system::error_code error;
            const auto value = item.is_number() ? item.to_number<std::uint64_t>(error) : 0;
            values.push_back(item.is_number() && !error ? Count(value) : std::nullopt);
        }
    return values;
}

// With the zeros that a file leaves out at the end.
Column counts_in(Node node, std::string_view key, const Intervals& intervals) {
    Column values = list_in(node, key);
    values.resize(intervals.size() + 1, Count(0));
    return values;
}

PartySeries party_series(const PartyView& party, const Intervals& intervals) {
    PartySeries series;
    if (const Node send = party.send ? party.send->raw["series"] : Node())
        series.send = SentSeries{.sent = counts_in(send, "sent", intervals),
                                 .completed = counts_in(send, "completed", intervals)};
    if (const Node receive = party.receive ? party.receive->raw["series"] : Node()) {
        series.receive = ReceivedSeries{
            .arrived = counts_in(receive, "arrived", intervals), .slowest_us = {}, .latency = {}};
        for (const std::string name : {"since_due", "transit"})
            if (const std::string key = name + "_max_us"; receive[key]) {
                series.receive->latency = name;
                series.receive->slowest_us = list_in(receive, key);
                series.receive->slowest_us.resize(intervals.size() + 1);
            }
    }
    return series;
}

std::vector<Number> cores_in(Node series, std::string_view key, const Intervals& intervals) {
    std::vector<Number> cores;
    const Column used = list_in(series, key), late = list_in(series, "late_us");
    if (used.empty())
        return cores;
    cores.resize(intervals.size());
    std::optional<std::size_t> last; // bound of the last reading
    for (std::size_t bound = 0; bound < std::min(late.size(), intervals.size() + 1); ++bound) {
        if (!late[bound])
            continue;
        if (last && bound - 1 < used.size() && used[bound - 1]) {
            const std::uint64_t from = intervals.bounds()[*last] + *late[*last] * kMicrosecond;
            const std::uint64_t to = intervals.bounds()[bound] + *late[bound] * kMicrosecond;
            // One reading may stand for several intervals: then it is the mean of each.
            if (to > from)
                for (std::size_t interval = *last; interval < bound; ++interval)
                    cores[interval] = static_cast<double>(*used[bound - 1] * kMicrosecond) /
                                      static_cast<double>(to - from);
        }
        last = bound;
    }
    return cores;
}

// Sending ends with the window.
Column due_in(const RunView& run, const Intervals& intervals) {
    Column due;
    if (!run.rate || *run.rate < kLowestRate)
        return due;
    const measure::Schedule schedule = measure::schedule_from_json(*run.raw["schedule"].json());
    const measure::Offer offer(schedule, run.rate, run.pacing);
    due.resize(intervals.size() + 1, Count(0));
    for (std::size_t interval = 0; interval < intervals.first_of_drain(); ++interval)
        due[interval] =
            offer.due_between(intervals.bounds()[interval], intervals.bounds()[interval + 1]);
    return due;
}

std::uint64_t sum_between(const Column& column, std::size_t from, std::size_t until) {
    std::uint64_t sum = 0;
    for (std::size_t index = from; index < std::min(until, column.size()); ++index)
        sum += column[index].value_or(0);
    return sum;
}

class Books {
  public:
    Books(const RunView& run, const Intervals& intervals) : run_(run), intervals_(intervals) {
        for (const auto& [name, party] :
             {std::pair<const char*, const PartyView*>{"client", &run.worker},
              {"peer", &run.peer}}) {
            if (party->send)
                look_at_sent(name, *party->send);
            if (party->receive)
                look_at_received(name, *party->receive);
        }
        look_at_cpu("client", run.client_use);
        look_at_cpu("broker", run.broker_use);
    }

    std::vector<std::string> faults() && { return std::move(faults_); }

  private:
    void look_at_sent(const std::string& who, const SendView& send) {
        const Node series = send.raw["series"];
        counts(who, "sent", series, {send.sent, send.sent_window, {}});
        counts(who, "completed", series, {send.completed, send.completed_window, {}});
    }
    void look_at_received(const std::string& who, const ReceiveView& receive) {
        const Node series = receive.raw["series"];
        counts(who, "arrived", series, {receive.total, receive.window, receive.drain});
        for (const std::string name : {"since_due", "transit"}) {
            const std::string key = name + "_max_us";
            const Count most = receive.raw[name].count("max_ns");
            if (!series[key] || !most)
                continue;
            std::uint64_t largest = 0;
            for (const Count& value : list_in(series, key))
                largest = std::max(largest, value.value_or(0));
            // What arrived before the window or was sent in the warm-up may have been slower.
            if (largest * kMicrosecond < *most)
                fault("{}: no interval has the largest latency of '{}', {} ns", who, name, *most);
        }
    }

    struct Whole {
        Count all, window, after_window;
    };
    void counts(const std::string& who, std::string_view key, Node series, const Whole& whole) {
        const Node list = series[key];
        if (!list || !list.json()->is_array())
            return fault("{}: there is no '{}' by interval", who, key);
        const Column column = list_in(series, key);
        if (column.size() > intervals_.size() + 1)
            return fault("{}: '{}' has {} intervals, the schedule {}", who, key, column.size(),
                         intervals_.size());
        if (std::ranges::find(column, Count()) != column.end())
            return fault("{}: '{}' has an interval without a count", who, key);
        const std::size_t window = intervals_.first_of_window(),
                          drain = intervals_.first_of_drain();
        const auto compare = [&](std::string_view part, std::size_t from, std::size_t until,
                                 const Count& count) {
            if (const std::uint64_t sum = sum_between(column, from, until); count && sum != *count)
                fault("{}: '{}' by interval is {} {}, the count is {}", who, key,
                      support::format_count(sum), part, support::format_count(*count));
        };
        compare("in all", 0, column.size(), whole.all);
        compare("in the window", window, drain, whole.window);
        compare("after the window", drain, column.size(), whole.after_window);
    }

    void look_at_cpu(const std::string& who, const ResourceView& use) {
        const Node series = run_.raw["resources"]["series"];
        const Column used = list_in(series, who + "_cpu_us"), late = list_in(series, "late_us");
        const std::size_t from = intervals_.first_of_window(), to = intervals_.first_of_drain();
        const auto was_read = [&](std::size_t bound) {
            return bound < late.size() && late[bound].has_value();
        };
        if (used.empty() || !use.cpu_total_ns || !was_read(from) || !was_read(to))
            return;
        const std::uint64_t sum = sum_between(used, from, to), whole = *use.cpu_total_ns;
        // The two times that a use lies between are rounded to microseconds.
        if (sum * kMicrosecond + kMicrosecond < whole || whole + kMicrosecond < sum * kMicrosecond)
            fault("{}: CPU time by interval is {} µs in the window, the whole is {} ns", who, sum,
                  whole);
    }

    template <class... Parts>
    void fault(fmt::format_string<Parts...> form, Parts&&... parts) {
        faults_.push_back(fmt::format(form, std::forward<Parts>(parts)...));
    }

    const RunView& run_;
    const Intervals& intervals_;
    std::vector<std::string> faults_;
};

} // namespace

std::optional<Series> series_of(const RunView& run) {
    std::optional<Intervals> intervals = intervals_of(run);
    if (!intervals)
        return std::nullopt;
    const Node cpu = run.raw["resources"]["series"];
    Series series{.intervals = *intervals,
                  .client = party_series(run.worker, *intervals),
                  .peer = party_series(run.peer, *intervals),
                  .due = due_in(run, *intervals),
                  .confirmed = {},
                  .slowest_us = {},
                  .latency = {},
                  .client_cores = cores_in(cpu, "client_cpu_us", *intervals),
                  .broker_cores = cores_in(cpu, "broker_cpu_us", *intervals)};
    const bool is_peers = &run.result_receiver() == &run.peer.receive;
    const auto& result = is_peers ? series.peer.receive : series.client.receive;
    const auto& other = is_peers ? series.client.receive : series.peer.receive;
    if (result) {
        series.confirmed = result->arrived;
        series.slowest_us = result->slowest_us;
        series.latency = result->latency;
    }
    if (result && other && run.kind == scenario::Kind::duplex)
        for (std::size_t interval = 0; interval < series.confirmed.size(); ++interval)
            if (const Count more = other->arrived[interval]; series.confirmed[interval] && more)
                *series.confirmed[interval] += *more;
    return series;
}

std::vector<std::string> faults_of_series(const RunView& run) {
    const std::optional<Intervals> intervals = intervals_of(run);
    return intervals ? Books(run, *intervals).faults() : std::vector<std::string>();
}

double Series::begin_s(std::size_t interval) const {
    const auto at = static_cast<double>(intervals.bounds()[interval]);
    return (at - static_cast<double>(intervals.bounds()[intervals.first_of_window()])) * 1e-9;
}

double Series::length_s(std::size_t interval) const {
    const std::vector<support::Nanoseconds>& bounds = intervals.bounds();
    return interval < intervals.size()
               ? static_cast<double>(bounds[interval + 1] - bounds[interval]) * 1e-9
               : 0;
}

std::string_view Series::phase(std::size_t interval) const {
    return interval < intervals.first_of_window()  ? "warmup"
           : interval < intervals.first_of_drain() ? "window"
           : interval < intervals.size()           ? "drain"
                                                   : "after";
}

} // namespace mqcore::verdict
