// Nobody else was the limit.

#include "verdict/accounts.hpp"
#include "verdict/checks.hpp"
#include "verdict/scopes.hpp"

#include <fmt/format.h>

namespace mqcore::verdict {
namespace {

using namespace scopes;

Finding find_broker_headroom(const RunView& run, const Context&) {
    const Number share = run.broker_use.cores(run.window_ns);
    if (!share)
        return unavailable(run.broker_use.why_unavailable("cpu_ns"));
    const std::string detail = fmt::format("the broker used {} of a core", percent(*share));
    return *share < kBrokerBusyShare ? pass(detail) : blame(Party::broker, detail);
}

Finding find_host_quiet(const RunView& run, const Context&) {
    if (!run.is_comparable)
        return not_applicable("enforced where runs are to be compared");
    const Number busy = run.host.number("other_busy_cores");
    if (!busy)
        return unavailable("what the rest of the host did could not be read");
    const std::string detail = busy_others(run);
    return *busy <= kQuietCores ? pass(detail) : blame(Party::host, detail);
}

} // namespace

std::vector<CheckEntry> checks_of_surroundings() {
    return {
        {"broker_headroom",
         "The broker was not the limit",
         "At a fixed rate and when idle the broker had time to spare, so that latency and cost are "
         "not its own.",
         fmt::format("The broker used less than {:.0f} % of one core in the window.",
                     100 * kBrokerBusyShare),
         {kAnyKind, kFixed | kIdling, kAnyQos, 0, true},
         find_broker_headroom},
        {"host_quiet",
         "The rest of the machine was quiet",
         "Nothing else took the machine away from the run. The detail names the busiest other "
         "processes and the kernel time that no process is charged for.",
         fmt::format("At most {:.1f} cores were busy outside the client, the peer and the broker. "
                     "Enforced on comparable runs; on others see host_noisy.",
                     kQuietCores),
         {kAnyKind, kAnyLoad, kAnyQos},
         find_host_quiet},
    };
}

} // namespace mqcore::verdict
