#pragma once
// A session on a real Mosquitto with the real peer, and a fake party in the worker's place.

#include "machine/topology.hpp"
#include "session/session.hpp"
#include "support/catch.hpp"
#include "support/paths.hpp"

#include <fstream>
#include <memory>
#include <sys/stat.h>

namespace mqcore::test {

using session::Json;
using session::RunParts;
using session::RunRequest;
using session::Session;
using support::kMillisecond;
using support::kSecond;
using support::now_ns;

inline session::TempDir scratch() {
    auto folder = session::TempDir::create();
    REQUIRE(folder);
    return std::move(*folder);
}

// A program without arguments that is the fake party with one habit.
inline std::filesystem::path worker_with(const std::filesystem::path& folder,
                                         const std::string& habit) {
    const auto file = folder / "worker.sh";
    std::filesystem::remove(file);
    std::ofstream(file) << "#!/bin/sh\nexec "
                        << (tests::build_folder() / "bin/session-fake-party").string() << " '"
                        << habit << "'\n";
    ::chmod(file.c_str(), 0700);
    return file;
}

struct Fixture {
    session::TempDir folder = scratch();
    std::unique_ptr<Session> session;

    explicit Fixture(const std::string& habit = "",
                     std::optional<session::BrokerUrl> external = {}) {
        const auto topology = machine::read_topology();
        REQUIRE(topology);
        worker_with(folder.path(), habit);
        auto started = Session::start({.worker_program = folder.path() / "worker.sh",
                                       .peer_program = mqcore::tests::build_folder() / "bin/mqpeer",
                                       .log_folder = folder.path(),
                                       .cores = machine::plan_cores(*topology),
                                       .external_broker = std::move(external),
                                       .external_ca_file = {},
                                       .id = "test" + std::to_string(::getpid())});
        if (!started)
            FAIL(support::one_line(started.error()));
        session = std::move(*started);
    }

    void set_habit(const std::string& habit) { worker_with(folder.path(), habit); }

    // A client that publishes to the peer's sink.
    RunRequest publish(std::uint32_t qos) const {
        RunRequest request;
        request.worker.endpoint.client_id = "client" + std::to_string(++ids_);
        request.worker.send = measure::SendSpec{
            .topics = {"t"}, .payload_bytes = {64}, .qos = qos, .rate = {}, .tag = 7};
        request.peer = measure::PeerSpec{
            .role = measure::PeerRole::sink,
            .endpoint = {.client_id = "peer" + std::to_string(ids_)},
            .send = {},
            .receive = measure::ReceiveSpec{
                .filters = {"t"}, .qos = qos, .tag = 7, .payload_bytes = {64}, .rate = {}}};
        request.lengths = {.start_ns = 0,
                           .warmup_ns = 100 * kMillisecond,
                           .window_ns = 400 * kMillisecond,
                           .drain_ns = kSecond};
        request.log_file = folder.path() / "run.log";
        return request;
    }

    RunParts run(const RunRequest& request) {
        auto parts = session->run(request);
        if (!parts)
            FAIL(support::one_line(parts.error()));
        return std::move(*parts);
    }

  private:
    mutable int ids_ = 0;
};

} // namespace mqcore::test
