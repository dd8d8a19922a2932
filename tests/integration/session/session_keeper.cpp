// Starts a broker, its probe and a worker that hangs, prints their process numbers and waits for
// the end that its test gives it.
//
//   session-keeper FOLDER BUILD_FOLDER

#include "session/broker.hpp"
#include "session/witness.hpp"

#include <cstdio>
#include <unistd.h>

using namespace mqcore::session;

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const std::filesystem::path folder = argv[1], programs = argv[2];
    Supervisor supervisor;
    auto broker = start_managed_broker(supervisor, {.cpus = {}, .log_file = folder / "broker.log"});
    if (!broker)
        return 3;
    auto probe = Probe::start(supervisor, {.peer_program = programs / "mqpeer",
                                           .listener = *(*broker)->plain(),
                                           .client_id = "keeper-probe",
                                           .cpus = {},
                                           .log_file = folder / "probe.log"});
    auto worker = supervisor.start({.name = "client",
                                    .party = "client",
                                    .program = programs / "session-fake-party",
                                    .arguments = {"silent@prepare"},
                                    .log_file = folder / "worker.log",
                                    .has_control_channel = true,
                                    .environment = {}});
    if (!probe || !worker)
        return 3;
    (*worker)->tell(mqcore::support::JsonObject{{"do", "prepare"}}); // from here it only sleeps
    std::printf("%d %d %d\n", (*broker)->process()->pid(), (*probe)->pid(), (*worker)->pid());
    std::fflush(stdout);
    for (;;)
        ::pause();
}
