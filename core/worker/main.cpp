// mqworker: hosts one driver for one run. Its orders come as JSON lines on descriptor 3, its control
// page is descriptor 4; docs/architecture.md has the dialogue.

#include "driver/loaded_driver.hpp"
#include "measure/control_page.hpp"
#include "measure/specification.hpp"
#include "support/channel.hpp"
#include "worker/host.hpp"
#include "worker/source.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <sys/prctl.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace mqcore::worker {
namespace {

using measure::WorkerPhase;
using support::Json;
using support::JsonObject;

// Of this process; 0: unknown.
std::uint64_t resident_kib() {
    std::uint64_t total = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
}

// Pointers into the specification's strings, in the form the ABI wants.
class RunView {
  public:
    explicit RunView(const measure::WorkerSpec& spec) {
        if (spec.send) {
            for (const std::string& topic : spec.send->topics)
                topics_.push_back(topic.c_str());
            if (spec.send->topic_alias)
                topics_.push_back(""); // PacingSource answers it once the alias is set
            if (!spec.send->properties.is_empty())
                set_properties(spec.send->properties);
        }
        if (spec.receive)
            for (const std::string& filter : spec.receive->filters)
                filters_.push_back(filter.c_str());
        for (const auto& [key, value] : spec.options)
            options_.push_back({key.c_str(), value.c_str()});
        std::uint32_t largest = 0;
        for (const auto* lengths : {spec.send ? &spec.send->payload_bytes : nullptr,
                                    spec.receive ? &spec.receive->payload_bytes : nullptr})
            if (lengths)
                for (const std::uint32_t bytes : *lengths)
                    largest = std::max(largest, bytes);
        const measure::Endpoint& endpoint = spec.endpoint;
        run_ = {.size = sizeof(mqcore_run),
                .protocol = endpoint.protocol == measure::Protocol::v5 ? MQCORE_V5 : MQCORE_V311,
                .host = endpoint.host.c_str(),
                .client_id = endpoint.client_id.c_str(),
                .ca_file = endpoint.ca_file.empty() ? nullptr : endpoint.ca_file.c_str(),
                .topics = topics_.data(),
                .filters = filters_.data(),
                .options = options_.data(),
                .topic_count = static_cast<std::uint32_t>(topics_.size()),
                .filter_count = static_cast<std::uint32_t>(filters_.size()),
                .option_count = static_cast<std::uint32_t>(options_.size()),
                .filter_qos = spec.receive ? spec.receive->qos : 0,
                .port = endpoint.port,
                .keepalive_s = endpoint.keepalive_s,
                .window = spec.send ? spec.send->window : 0,
                .payload_bytes_max = largest,
                .connection_count = spec.connections,
                .receive_maximum = endpoint.receive_maximum,
                .properties = spec.send && !spec.send->properties.is_empty() ? &set_ : nullptr,
                .properties_count = spec.send && !spec.send->properties.is_empty() ? 1u : 0u,
                .topic_alias_max = spec.send ? spec.send->topic_alias : 0u};
    }
    RunView(const RunView&) = delete;
    RunView& operator=(const RunView&) = delete;

    const mqcore_run& run() const { return run_; }

  private:
    void set_properties(const measure::PublishProperties& from) {
        const auto text = [](const std::string& value) {
            return value.empty() ? nullptr : value.c_str();
        };
        for (const auto& [name, value] : from.user)
            user_.push_back({name.c_str(), value.c_str()});
        properties_ = {
            .size = sizeof(mqcore_properties),
            .user_count = static_cast<std::uint32_t>(user_.size()),
            .user = user_.data(),
            .content_type = text(from.content_type),
            .response_topic = text(from.response_topic),
            .correlation_data = reinterpret_cast<const std::uint8_t*>(text(from.correlation_data)),
            .correlation_data_bytes = static_cast<std::uint32_t>(from.correlation_data.size()),
            .reserved = 0};
    }

    std::vector<const char*> topics_, filters_;
    std::vector<mqcore_option> options_;
    std::vector<mqcore_user_property> user_;
    mqcore_properties properties_{};
    const mqcore_properties* set_ = &properties_;
    mqcore_run run_{};
};

class Worker {
  public:
    Worker(support::LineChannel& channel, measure::ControlPage& page)
        : channel_(channel), page_(page) {}

    // The exit code.
    int serve();

  private:
    bool inspect(const Json& order);
    bool prepare(const Json& order);
    bool connect();
    bool drive(const Json& order);
    bool leave(const Json& order);
    void finish(const Json& order);

    std::int32_t disconnect();
    void destroy();
    // Calls into the driver; an exception that crosses the ABI is the driver's failure, not ours.
    template <class Call>
    std::int32_t guarded(WorkerPhase phase, Call&& call);
    bool fail(std::string_view status, std::string reason, Json report = nullptr);
    bool fail_by_status(std::int32_t status, Json report = nullptr);
    void say(JsonObject document);

    support::LineChannel& channel_;
    measure::ControlPage& page_;
    measure::WorkerSpec spec_;
    std::unique_ptr<RunView> run_;
    std::unique_ptr<DriverHost> host_;
    driver::LoadedDriver driver_;
    void* instance_ = nullptr;
    bool is_connected_ = false;
    MisuseLog misuse_;
    std::unique_ptr<PacingSource> source_;
    std::unique_ptr<CountingSink> sink_;
    // Of an instance or a drive before this one: a thread of the library may still hold them.
    std::vector<std::shared_ptr<void>> retired_;
    std::string last_exception_;
};

int Worker::serve() {
    for (;;) {
        support::Result<Json> order = channel_.receive();
        if (!order) // the orchestrator is gone: so is the run
            return 1;
        const std::string what = support::text_or(*order, "do", "");
        if (what == "finish") {
            finish(*order);
            return 0;
        }
        const bool went_well = what == "inspect"   ? inspect(*order)
                               : what == "leave"   ? leave(*order)
                               : what == "prepare" ? prepare(*order)
                               : what == "connect" ? connect()
                               : what == "drive"   ? drive(*order)
                                                 : fail("internal", "unknown order '" + what + "'");
        if (!went_well && !support::boolean_or(*order, "go_on", false))
            return 1;
    }
}

template <class Call>
std::int32_t Worker::guarded(WorkerPhase phase, Call&& call) {
    page_.phase.store(static_cast<std::uint32_t>(phase), std::memory_order_relaxed);
    try {
        return call();
    } catch (const std::exception& exception) {
        last_exception_ = fmt::format("an exception crossed the driver ABI: {}", exception.what());
    } catch (...) {
        last_exception_ = "an exception crossed the driver ABI";
    }
    return MQCORE_LIBRARY;
}

// For the conformance checker: foreign code runs here and not in the orchestrator.
bool Worker::inspect(const Json& order) {
    say({{"event", "inspected"},
         {"facts", driver::inspect_driver(support::text_or(order, "file", ""),
                                          support::text_or(order, "folder", ""))}});
    return true;
}

bool Worker::prepare(const Json& order) {
    const Json* spec_json = support::find(order, "spec");
    support::Result<measure::WorkerSpec> spec =
        measure::worker_spec_from_json(spec_json ? *spec_json : Json(nullptr));
    if (!spec)
        return fail("internal", spec.error().message);
    spec_ = std::move(*spec);
    page_.phase.store(static_cast<std::uint32_t>(WorkerPhase::creating), std::memory_order_relaxed);
    support::Result<driver::LoadedDriver> loaded =
        driver::load_driver(spec_.driver_file, spec_.driver_folder);
    if (!loaded)
        return fail("driver", support::one_line(loaded.error()));
    driver_ = std::move(*loaded);
    if (host_)
        retired_.emplace_back(std::move(host_));
    host_ = std::make_unique<DriverHost>(spec_.environment);
    run_ = std::make_unique<RunView>(spec_);

    const std::int32_t status = guarded(
        WorkerPhase::creating, [&] { return driver_.table->create(host_.get(), &instance_); });
    if (status != MQCORE_OK) {
        if (instance_)
            guarded(WorkerPhase::creating, [&] {
                driver_.table->destroy(instance_);
                return MQCORE_OK;
            });
        return fail_by_status(status);
    }
    page_.phase.store(static_cast<std::uint32_t>(WorkerPhase::created), std::memory_order_relaxed);
    say({{"event", "prepared"}, {"driver", driver::to_json(driver_)}});
    return true;
}

bool Worker::connect() {
    const support::Nanoseconds begin = support::now_ns();
    const std::int32_t status = guarded(
        WorkerPhase::connecting, [&] { return driver_.table->connect(instance_, &run_->run()); });
    const support::Nanoseconds connect_ns = support::now_ns() - begin;
    if (status != MQCORE_OK)
        return fail_by_status(status);
    is_connected_ = true;
    page_.phase.store(static_cast<std::uint32_t>(WorkerPhase::connected),
                      std::memory_order_relaxed);
    say({{"event", "connected"}, {"connect_ns", connect_ns}, {"notes", host_->notes()}});
    return true;
}

bool Worker::drive(const Json& order) {
    const Json* schedule_json = support::find(order, "schedule");
    const measure::Schedule schedule =
        measure::schedule_from_json(schedule_json ? *schedule_json : Json(nullptr));
    if (source_) {
        retired_.emplace_back(std::move(source_));
        retired_.emplace_back(std::move(sink_));
    }
    for (auto* count : {&page_.completed_on_drive_thread, &page_.failed_on_drive_thread,
                        &page_.completed_elsewhere, &page_.failed_elsewhere})
        count->store(0, std::memory_order_relaxed);
    source_ =
        std::make_unique<PacingSource>(spec_.send, schedule, spec_.connections, page_, misuse_);
    sink_ = std::make_unique<CountingSink>(*source_, spec_.receive, schedule,
                                           spec_.send ? spec_.send->window : 0, page_, misuse_);
    // A connection that is lost ends the run now, not at the schedule's end.
    host_->when_failed([this] { source_->interrupt(); });
    const std::uint64_t rss_before = resident_kib();
    const std::int32_t status = guarded(WorkerPhase::driving, [&] {
        return driver_.table->drive(instance_, source_.get(), sink_.get());
    });
    sink_->close();
    if (status == MQCORE_OK && !source_->has_stopped())
        misuse_.note(Misuse::returned_without_stop);
    const Json report = JsonObject{{"send", source_->report()},
                                   {"receive", sink_->report()},
                                   {"unexpected", sink_->unexpected()},
                                   {"returned_ns", support::now_ns()},
                                   {"misuse", misuse_.to_json()}};
    if (status != MQCORE_OK || !source_->has_stopped())
        return fail_by_status(status, report);
    if (host_->failure())
        return fail_by_status(host_->failure()->status, report);
    page_.phase.store(static_cast<std::uint32_t>(WorkerPhase::driven), std::memory_order_relaxed);
    support::JsonArray stamps;
    for (const support::Nanoseconds stamp : source_->first_stamps())
        stamps.emplace_back(stamp);
    say({{"event", "driven"},
         {"report", report},
         {"notes", host_->notes()},
         {"conduct", JsonObject{{"asked_in_vain", source_->asked_in_vain()},
                                {"completed_elsewhere", page_.completed_elsewhere.load()},
                                {"first_stamps_ns", std::move(stamps)},
                                {"rss_kib", support::JsonArray{rss_before, resident_kib()}}}}});
    return true;
}

// What never connected, or was ended in the middle of it, has nothing to leave.
std::int32_t Worker::disconnect() {
    if (!is_connected_)
        return MQCORE_OK;
    is_connected_ = false;
    return guarded(WorkerPhase::disconnecting,
                   [&] { return driver_.table->disconnect(instance_); });
}

void Worker::destroy() {
    guarded(WorkerPhase::disconnecting, [&] {
        driver_.table->destroy(std::exchange(instance_, nullptr));
        return MQCORE_OK;
    });
}

// For the conformance checker: a driver may be connected again, and made again.
bool Worker::leave(const Json& order) {
    const std::int32_t status = disconnect();
    if (sink_)
        sink_->forbid();
    if (status != MQCORE_OK)
        return fail_by_status(status);
    if (instance_ && support::boolean_or(order, "destroy", false))
        destroy();
    say({{"event", "left"}, {"misuse", misuse_.to_json()}});
    return true;
}

void Worker::finish(const Json& order) {
    if (instance_) {
        const std::int32_t status = disconnect();
        if (sink_)
            sink_->forbid();
        // A checker asks to linger: a callback that comes too late needs time to come.
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(support::integer_or(order, "linger_ns", 0)));
        if (status != MQCORE_OK)
            std::fprintf(stderr, "[worker] disconnect: %s\n", name_of_status(status).c_str());
        destroy();
    }
    page_.phase.store(static_cast<std::uint32_t>(WorkerPhase::finished), std::memory_order_relaxed);
    say({{"event", "finished"}, {"misuse", misuse_.to_json()}});
}

bool Worker::fail_by_status(std::int32_t status, Json report) {
    const auto told = host_->failure();
    std::string reason = told                       ? told->text
                         : !last_exception_.empty() ? last_exception_
                         : status == MQCORE_OK      ? "drive() returned before it was told to stop"
                                                    : "the driver gave no reason";
    const std::int32_t shown = told ? told->status : status == MQCORE_OK ? MQCORE_LIBRARY : status;
    return fail(name_of_status(shown), std::move(reason), std::move(report));
}

bool Worker::fail(std::string_view status, std::string reason, Json report) {
    const auto phase = static_cast<WorkerPhase>(page_.phase.load(std::memory_order_relaxed));
    say({{"event", "failed"},
         {"phase", name_of(phase)},
         {"status", status},
         {"reason", reason},
         {"notes", host_ ? host_->notes() : Json(JsonObject{})},
         {"report", std::move(report)}});
    return false;
}

void Worker::say(JsonObject document) {
    if (const support::Result<void> sent = channel_.send(std::move(document)); !sent)
        std::fprintf(stderr, "[worker] %s\n", sent.error().message.c_str());
}

} // namespace
} // namespace mqcore::worker

int main() {
    using namespace mqcore;
    // Whatever ends the orchestrator ends the worker, even in the middle of a drive.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGPIPE, SIG_IGN);
    support::Result<measure::SharedPage> page =
        measure::SharedPage::attach(measure::kPageDescriptor);
    if (!page) {
        std::fprintf(stderr, "mqworker is started by mqcore, not by hand: %s\n",
                     page.error().message.c_str());
        return 2;
    }
    support::LineChannel channel{support::UniqueFd(support::kControlDescriptor)};
    // Never destroyed: threads of a library that was not taken down may call into it to the last.
    const int code = (new worker::Worker(channel, page->page()))->serve();
    // Without finalisers: tearing down an interpreter or a runtime with live threads is not the
    // experiment, and the results have left the process.
    std::fflush(nullptr);
    ::_exit(code);
}
