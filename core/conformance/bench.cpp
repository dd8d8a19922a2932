#include "conformance/bench.hpp"

#include <fmt/format.h>

namespace mqcore::conformance {

using support::JsonObject;
using support::kMillisecond;
using support::now_ns;

Json Step::report() const {
    const Json& source = trouble ? trouble->said : event;
    const Json* found = support::find(source, "report");
    return found ? *found : Json(nullptr);
}

std::string Step::misuse(std::string_view rule) const {
    const Json told = report();
    for (const Json* list : {support::find(told, "misuse"), support::find(event, "misuse")})
        if (list && list->is_array())
            for (const Json& entry : list->get_array())
                if (const auto text = std::string_view(entry.get_string());
                    text.starts_with(rule) && text.substr(rule.size()).starts_with(':'))
                    return std::string(text.substr(text.find_first_not_of(": ", rule.size())));
    return {};
}

support::Result<std::unique_ptr<Bench>> Bench::make(Subject subject, const CheckOptions& options) {
    support::Result<session::TempDir> folder = session::TempDir::create();
    if (!folder)
        return std::move(folder).error();
    return std::unique_ptr<Bench>(new Bench(std::move(subject), options, *std::move(folder)));
}

Bench::Bench(Subject subject, const CheckOptions& options, session::TempDir folder)
    : subject_(std::move(subject)), options_(options), folder_(std::move(folder)) {}

measure::WorkerSpec Bench::specification(measure::Protocol protocol, std::uint16_t port) const {
    return {.driver_file = subject_.descriptor.library_file.string(),
            .driver_folder = subject_.descriptor.folder.string(),
            .environment = subject_.environment,
            .endpoint = {.host = "127.0.0.1",
                         .port = port,
                         .ca_file = {},
                         .protocol = protocol,
                         .client_id = "mqcore-check"},
            .connections = 1,
            .send = std::nullopt,
            .receive = std::nullopt,
            .options = subject_.descriptor.variant.options};
}

void Bench::break_down(support::Error error) {
    if (!broken_)
        broken_ = std::move(error);
}

Trial::Trial(Bench& bench) : bench_(bench) {
    support::Result<measure::SharedPage> page = measure::SharedPage::create();
    if (!page) {
        bench.break_down(page.error());
        return;
    }
    auto worker = bench.supervisor().start({.name = "worker",
                                            .party = "client",
                                            .program = bench.options().worker_program,
                                            .arguments = {},
                                            .cpus = {},
                                            .log_file = bench.log_file(),
                                            .page_descriptor = page->fd(),
                                            .environment = {}});
    if (worker)
        worker_ = *std::move(worker);
    else
        bench.break_down(worker.error());
}

Step Trial::inspect() {
    return ask(JsonObject{{"do", "inspect"},
                          {"file", bench_.subject().descriptor.library_file.string()},
                          {"folder", bench_.subject().descriptor.folder.string()}},
               "inspected", bench_.options().patience_ns);
}

Step Trial::prepare(const measure::WorkerSpec& spec) {
    bench_.supervisor().set_phase("create()");
    return ask(JsonObject{{"do", "prepare"}, {"spec", measure::to_json(spec)}}, "prepared",
               bench_.options().patience_ns);
}

Step Trial::connect() { return connect(false); }
Step Trial::try_connect() { return connect(true); }

Step Trial::connect(bool goes_on) {
    bench_.supervisor().set_phase("connect()");
    return ask(JsonObject{{"do", "connect"}, {"go_on", goes_on}}, "connected",
               bench_.options().connect_limit_ns);
}

Step Trial::leave(bool destroy) {
    bench_.supervisor().set_phase(destroy ? "destroy()" : "disconnect()");
    return ask(JsonObject{{"do", "leave"}, {"destroy", destroy}}, "left",
               bench_.options().patience_ns);
}

Step Trial::drive(const measure::Schedule& schedule) {
    bench_.supervisor().set_phase("drive()");
    const Nanoseconds now = now_ns();
    const Nanoseconds length = schedule.end() > now ? schedule.end() - now : 0;
    return ask(JsonObject{{"do", "drive"}, {"schedule", measure::to_json(schedule)}}, "driven",
               length + bench_.options().patience_ns);
}

Step Trial::finish(Nanoseconds linger_ns) {
    bench_.supervisor().set_phase("disconnect() or destroy()");
    Step step = ask(JsonObject{{"do", "finish"}, {"linger_ns", linger_ns}}, "finished",
                    linger_ns + bench_.options().patience_ns);
    if (step)
        worker_->expect_end();
    return step;
}

Step Trial::reach_connected(const measure::WorkerSpec& spec) {
    Step step = prepare(spec);
    return step ? connect() : step;
}

Step Trial::ask(const Json& order, std::string_view event, Nanoseconds limit_ns) {
    if (!worker_)
        return {.event = nullptr, .trouble = Trouble{}};
    session::Reply reply = bench_.supervisor().ask(*worker_, order, event, now_ns() + limit_ns);
    if (reply)
        return {.event = std::move(reply.event), .trouble = std::nullopt};
    return {.event = nullptr, .trouble = trouble_of(*reply.failure)};
}

Trouble Trial::trouble_of(const session::Failure& failure) {
    if (failure.party == "user")
        bench_.break_down({support::ErrorCode::interrupted, failure.reason, {}});
    else if (failure.party != "client")
        bench_.break_down({support::ErrorCode::internal, failure.reason, {}});
    if (failure.status == "ended" || failure.status == "killed")
        return {.outcome = Outcome::crashed,
                .text = fmt::format("{} in {}", failure.reason, failure.phase),
                .phase = {},
                .status = {},
                .said = nullptr};
    if (failure.status == "deadline" || failure.status == "stopped")
        return {.outcome = Outcome::timed_out,
                .text = fmt::format("{} did not return in time", failure.phase),
                .phase = {},
                .status = {},
                .said = nullptr};
    Trouble trouble{.outcome = Outcome::fail,
                    .text = failure.reason,
                    .phase = failure.phase,
                    .status = failure.status,
                    .said = nullptr};
    if (auto said = bench_.supervisor().poll(*worker_, "failed"))
        trouble.said = std::move(*said);
    return trouble;
}

measure::Schedule schedule_from_now(Nanoseconds window_ns, Nanoseconds drain_ns) {
    return {.start_ns = now_ns(), .warmup_ns = 0, .window_ns = window_ns, .drain_ns = drain_ns};
}

} // namespace mqcore::conformance
