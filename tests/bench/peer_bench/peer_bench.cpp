// What a source and a sink of the peer cost a message when they talk to each other without a broker:
// two threads, one link between them, the real classes; and what the peer costs where it is the server
// itself (direct mode), with its own source as the client. Figures are per second of one core (CPU time
// of the thread), because a wall clock on a shared machine measures its neighbours.
//
//     peer-bench [seconds per row]      default 2

#include "peer/direct.hpp"
#include "peer/sink.hpp"
#include "peer/source.hpp"
#include "support/clock.hpp"

#include <asio/ip/tcp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <future>
#include <latch>
#include <thread>

using namespace mqcore;
using namespace mqcore::peer;
using support::kSecond;

namespace {

// What the issue asks of one core, QoS 0 and 256 bytes.
constexpr double kSourceTarget = 1'000'000;
constexpr double kSinkTarget = 500'000;
constexpr double kDirectTargets[] = {1'000'000, 400'000}; // by QoS

struct Row {
    const char* name;
    bool is_tcp;
    measure::Protocol protocol;
    std::uint32_t qos;
    std::uint32_t payload_bytes;
    std::uint32_t window;
};

constexpr Row kRows[] = {
    {"socketpair, QoS 0, 256 B", false, measure::Protocol::v311, 0, 256, 1024},
    {"TCP, QoS 0, 256 B", true, measure::Protocol::v311, 0, 256, 1024},
    {"TCP, QoS 0, 256 B, window 64", true, measure::Protocol::v311, 0, 256, 64},
    {"TCP, QoS 0, 256 B, MQTT 5", true, measure::Protocol::v5, 0, 256, 1024},
    {"TCP, QoS 0, 16 KiB", true, measure::Protocol::v311, 0, 16'384, 1024},
    {"TCP, QoS 1, 256 B", true, measure::Protocol::v311, 1, 256, 1024},
};

double thread_cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double clock_read_ns() {
    constexpr int kReads = 5'000'000;
    const double before = thread_cpu_seconds();
    Nanoseconds sum = 0;
    for (int read = 0; read < kReads; ++read)
        sum += support::now_ns();
    const double after = thread_cpu_seconds();
    return sum ? 1e9 * (after - before) / kReads : 0;
}

// One party in a thread of its own until it has driven; it keeps its end of the link open until both
// have.
class Performer {
  public:
    template <class Role>
    void run(measure::PeerSpec spec, int fd, bool is_tcp, const measure::Schedule& schedule,
             std::latch& both) {
        thread_ =
            std::thread([this, spec = std::move(spec), fd, is_tcp, schedule, &both]() mutable {
                asio::io_context io(1);
                bool is_done = false;
                Role role(io, std::move(spec), [&](support::JsonObject event) {
                    report_ = event["report"];
                    is_done = true;
                });
                const asio::generic::stream_protocol protocol(is_tcp ? AF_INET : AF_UNIX, 0);
                role.adopt(Link(Link::Socket(io, protocol, fd)));
                role.drive(schedule);
                const double before = thread_cpu_seconds();
                while (!is_done)
                    io.run_one();
                cpu_seconds_ = thread_cpu_seconds() - before;
                both.arrive_and_wait();
            });
    }
    support::Json wait() {
        thread_.join();
        return report_;
    }
    double cpu_seconds() const { return cpu_seconds_; }

  private:
    std::thread thread_;
    support::Json report_;
    double cpu_seconds_ = 0;
};

std::pair<int, int> connected_pair(bool is_tcp) {
    asio::io_context io;
    if (!is_tcp) {
        asio::local::stream_protocol::socket one(io), other(io);
        asio::local::connect_pair(one, other);
        return {one.release(), other.release()};
    }
    asio::ip::tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), 0});
    asio::ip::tcp::socket one(io), other(io);
    one.connect(acceptor.local_endpoint());
    acceptor.accept(other);
    return {one.release(), other.release()};
}

void measure_row(const Row& row, double seconds, double clock_ns) {
    const measure::Endpoint endpoint{
        .host = {}, .ca_file = {}, .protocol = row.protocol, .client_id = {}};
    const auto window = static_cast<Nanoseconds>(seconds * static_cast<double>(kSecond));
    const measure::Schedule schedule{.start_ns = support::now_ns() + kSecond / 20,
                                     .warmup_ns = 0,
                                     .window_ns = window,
                                     .drain_ns = kSecond / 2};
    const auto [near, far] = connected_pair(row.is_tcp);
    std::latch both(2);
    Performer source, sink;
    sink.run<Sink>({.role = measure::PeerRole::sink,
                    .endpoint = endpoint,
                    .send = {},
                    .receive = measure::ReceiveSpec{.filters = {"bench/topic"},
                                                    .qos = row.qos,
                                                    .tag = 1,
                                                    .payload_bytes = {row.payload_bytes},
                                                    .rate = {}}},
                   far, row.is_tcp, schedule, both);
    source.run<Source>({.role = measure::PeerRole::source,
                        .endpoint = endpoint,
                        .send = measure::SendSpec{.topics = {"bench/topic"},
                                                  .payload_bytes = {row.payload_bytes},
                                                  .qos = row.qos,
                                                  .rate = {},
                                                  .window = row.window,
                                                  .tag = 1,
                                                  .limit = {}},
                        .receive = {}},
                       near, row.is_tcp, schedule, both);
    const support::Json sent_report = source.wait();
    const support::Json received_report = sink.wait();
    const auto sent =
        static_cast<double>(support::unsigned_or(sent_report.at("send"), "completed", 0));
    const auto received =
        static_cast<double>(support::unsigned_or(received_report.at("receive"), "total", 0));
    const double source_rate = sent / source.cpu_seconds();
    const double sink_rate = received / sink.cpu_seconds();
    const auto print_side = [&](const char* name, double rate, double target) {
        fmt::print("    {:6} {:>10.0f} msg/s of one core  {:>6.0f} ns  {:>5.1f} clock reads", name,
                   rate, 1e9 / rate, 1e9 / rate / clock_ns);
        if (row.qos == 0 && row.payload_bytes == 256)
            fmt::print("  {:>5.1f} x target", rate / target);
        fmt::print("\n");
    };
    fmt::print("{}: {:.0f} msg/s by the wall clock, {} lost\n", row.name, received / seconds,
               sent - received);
    print_side("source", source_rate, kSourceTarget);
    print_side("sink", sink_rate, kSinkTarget);
    std::fflush(stdout);
}

// One party that connects, or is connected to, in its own thread.
struct Actor {
    std::promise<support::JsonObject> ready, driven;
    std::promise<measure::Schedule> begin;
    double cpu_seconds = 0;

    void perform(measure::PeerSpec spec) {
        asio::io_context io(1);
        bool is_ready = false, is_done = false;
        support::JsonObject last;
        const auto party = *make_party(io, std::move(spec), [&](support::JsonObject event) {
            (is_ready ? is_done : is_ready) = true;
            last = std::move(event);
        });
        party_ = party.get();
        start();
        while (!is_ready)
            io.run_one();
        ready.set_value(last);
        auto told = begin.get_future();
        while (told.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
            io.run_one_for(std::chrono::milliseconds(1)); // the other side still connects
        party->drive(told.get());
        const double before = thread_cpu_seconds();
        while (!is_done)
            io.run_one();
        cpu_seconds = thread_cpu_seconds() - before;
        driven.set_value(last);
        until_both.get_future().wait();
    }

    std::function<void()> start;
    Party* party_ = nullptr;
    std::promise<void> until_both;
};

void measure_direct(std::uint32_t qos, double seconds, double clock_ns) {
    const measure::ReceiveSpec receive{
        .filters = {"bench/topic"}, .qos = qos, .tag = 1, .payload_bytes = {256}, .rate = {}};
    const measure::SendSpec send{.topics = {"bench/topic"},
                                 .payload_bytes = {256},
                                 .qos = qos,
                                 .rate = {},
                                 .window = 1024,
                                 .tag = 1,
                                 .limit = {}};
    Actor direct, client;
    direct.start = [&] { direct.party_->listen(); };
    client.start = [&] { client.party_->connect(); };
    std::thread server([&] {
        direct.perform({.role = measure::PeerRole::sink,
                        .is_direct = true,
                        .endpoint = {},
                        .send = {},
                        .receive = receive});
    });
    const auto port = static_cast<std::uint16_t>(
        support::unsigned_or(direct.ready.get_future().get(), "port", 0));
    std::thread publisher([&] {
        client.perform({.role = measure::PeerRole::source,
                        .endpoint = {.host = "127.0.0.1",
                                     .port = port,
                                     .protocol = measure::Protocol::v311,
                                     .client_id = "bench"},
                        .send = send,
                        .receive = {}});
    });
    const measure::Schedule schedule{
        .start_ns = support::now_ns() + kSecond / 2,
        .warmup_ns = 0,
        .window_ns = static_cast<Nanoseconds>(seconds * static_cast<double>(kSecond)),
        .drain_ns = kSecond / 2};
    client.ready.get_future().wait();
    direct.begin.set_value(schedule);
    client.begin.set_value(schedule);
    const support::JsonObject heard = direct.driven.get_future().get();
    client.driven.get_future().wait();
    direct.until_both.set_value();
    client.until_both.set_value();
    server.join();
    publisher.join();
    const auto received =
        static_cast<double>(support::unsigned_or(heard.at("report").at("receive"), "total", 0));
    const double rate = received / direct.cpu_seconds;
    fmt::print(
        "direct, TCP, QoS {}, 256 B: {:.0f} msg/s by the wall clock\n"
        "    server {:>10.0f} msg/s of one core  {:>6.0f} ns  {:>5.1f} clock reads  {:>5.1f} x "
        "target\n",
        qos, received / seconds, rate, 1e9 / rate, 1e9 / rate / clock_ns,
        rate / kDirectTargets[qos]);
}

} // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
    const double clock_ns = clock_read_ns();
    fmt::print(
        "one clock read: {:.1f} ns; target of one core at QoS 0 and 256 B: source {:.0f}, sink "
        "{:.0f} msg/s\n",
        clock_ns, kSourceTarget, kSinkTarget);
    for (const Row& row : kRows)
        measure_row(row, seconds, clock_ns);
    for (const std::uint32_t qos : {0u, 1u})
        measure_direct(qos, seconds, clock_ns);
}
