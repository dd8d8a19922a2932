// A stand-in for mqworker and mqpeer. It keeps the dialogue of the control channel and, at the verb
// named by its argument, does one wrong thing: "kill@drive" dies of SIGKILL when told to drive.
//
//   kill stop close silent garbage exit0 exit3 fail emfile linger
//                       at a verb; all else is answered well
//   publish=QOS:COUNT   connects to the broker and publishes so many messages when driven
//   publish=QOS:COUNT+  the same, and goes on at QoS 0 from its report until it is told to finish
//   environment         says what it was started with
//   grandchild          leaves a process of its own behind
//   deaf                ignores SIGTERM

#include "measure/control_page.hpp"
#include "measure/payload.hpp"
#include "measure/schedule.hpp"
#include "support/channel.hpp"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <thread>

using namespace mqcore;
using support::Json;
using support::JsonArray;
using support::JsonObject;

namespace {

void sleep_until(support::Nanoseconds instant) {
    const auto now = support::now_ns();
    if (instant > now)
        std::this_thread::sleep_for(std::chrono::nanoseconds(instant - now));
}

// MQTT 3.1.1, just enough to publish and to complete QoS 1 and 2.
class Publisher {
  public:
    void connect(const Json& endpoint) {
        fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port =
            htons(static_cast<std::uint16_t>(support::unsigned_or(endpoint, "port", 0)));
        ::inet_pton(AF_INET, support::text_or(endpoint, "host", "").c_str(), &address.sin_addr);
        if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            std::exit(9);
        const std::string id = support::text_or(endpoint, "client_id", "");
        std::string body = text("MQTT") + "\x04\x02" + std::string("\0\x3c", 2) + text(id);
        send(0x10, body);
        take(4); // CONNACK
    }
    void publish(const std::string& topic, const std::string& payload, unsigned qos, unsigned id) {
        const std::string number{static_cast<char>(id >> 8), static_cast<char>(id)};
        send(static_cast<char>(0x30 | qos << 1), text(topic) + (qos ? number : "") + payload);
        if (qos > 0)
            take(4); // PUBACK or PUBREC
        if (qos == 2) {
            send(0x62, number); // PUBREL
            take(4);            // PUBCOMP
        }
    }
    void disconnect() {
        send(static_cast<char>(0xE0), "");
        ::close(fd_);
    }

  private:
    static std::string text(const std::string& value) {
        return std::string{static_cast<char>(value.size() >> 8), static_cast<char>(value.size())} +
               value;
    }
    void send(char type, const std::string& body) {
        std::string packet{type};
        std::size_t left = body.size();
        do {
            packet += static_cast<char>(left % 128 | (left >= 128 ? 128 : 0));
            left /= 128;
        } while (left);
        packet += body;
        if (::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL) < 0)
            std::exit(9);
    }
    void take(std::size_t bytes) {
        char block[16];
        for (std::size_t got = 0; got < bytes;) {
            const ssize_t more = ::recv(fd_, block, bytes - got, 0);
            if (more <= 0)
                std::exit(9);
            got += static_cast<std::size_t>(more);
        }
    }
    int fd_ = -1;
};

class Party {
  public:
    explicit Party(std::string habit)
        : habit_(std::move(habit)), channel_(support::UniqueFd(support::kControlDescriptor)) {
        if (auto page = measure::SharedPage::attach(measure::kPageDescriptor))
            page_.emplace(std::move(*page));
    }

    int serve() {
        for (;;) {
            auto order = channel_.receive();
            if (!order)
                return 0;
            const std::string verb = support::text_or(*order, "do", "");
            if (const std::size_t at = habit_.find('@');
                at != std::string::npos && habit_.substr(at + 1) == verb)
                misbehave(habit_.substr(0, at));
            answer(verb, *order);
            if (verb == "finish")
                return 0;
        }
    }

  private:
    void say(JsonObject event) { (void)channel_.send(Json(std::move(event))); }

    void misbehave(const std::string& how) {
        if (how == "kill")
            ::raise(SIGKILL);
        if (how == "stop")
            ::raise(SIGSTOP);
        if (how == "exit0")
            std::_Exit(0);
        if (how == "exit3")
            std::_Exit(3);
        if (how == "close")
            ::shutdown(channel_.fd(), SHUT_RDWR);
        if (how == "close" || how == "silent")
            for (;;)
                ::pause();
        if (how == "garbage") {
            const char* text = "%!PS not a document\n";
            (void)!::write(channel_.fd(), text, std::strlen(text));
            for (;;)
                ::pause();
        }
        if (how == "fail") {
            say({{"event", "failed"},
                 {"phase", "connecting"},
                 {"status", "refused"},
                 {"reason", "bad user name"},
                 {"notes", JsonObject{{"tried", 1}}}});
            std::_Exit(1);
        }
        if (how == "emfile") {
            say({{"event", "failed"},
                 {"phase", "connecting"},
                 {"status", "library"},
                 {"reason", "socket: Too many open files"}});
            std::_Exit(1);
        }
        if (how == "linger") { // says that it is finished and does not end
            say({{"event", "finished"}});
            for (;;)
                ::pause();
        }
    }

    void answer(const std::string& verb, const Json& order) {
        const Json* spec = support::find(order, "spec");
        if (verb == "prepare") {
            spec_ = *spec;
            phase(measure::WorkerPhase::created);
            say({{"event", "prepared"}, {"driver", JsonObject{{"id", "fake"}}}});
        } else if (verb == "connect") {
            if (is_publishing())
                publisher_.connect(spec_.at("endpoint"));
            phase(measure::WorkerPhase::connected);
            say({{"event", "connected"}, {"connect_ns", 1000}, {"notes", JsonObject{}}});
        } else if (verb == "drive") {
            drive(measure::schedule_from_json(order.at("schedule")));
        } else if (verb == "finish") {
            going_on_ = {};
            if (is_publishing())
                publisher_.disconnect();
            say({{"event", "finished"}, {"misuse", JsonArray{}}});
        } else if (verb == "read") {
            say({{"event", "reading"},
                 {"fresh", true},
                 {"at_ns", support::now_ns()},
                 {"counters", JsonObject{}}});
        } else {
            say({{"event", "echo"}, {"order", order}});
        }
    }

    void drive(const measure::Schedule& schedule) {
        phase(measure::WorkerPhase::driving);
        sleep_until(schedule.window_start());
        std::uint64_t sent = 0;
        if (is_publishing()) {
            const auto qos = static_cast<unsigned>(habit_[8] - '0');
            const std::uint64_t count = std::strtoull(habit_.c_str() + 10, nullptr, 10);
            const std::string topic(spec_.at("send").at("topics").at(0).as_string());
            const auto tag =
                static_cast<std::uint32_t>(support::unsigned_or(spec_.at("send"), "tag", 0));
            std::string payload(64, '\0');
            auto* bytes = reinterpret_cast<std::uint8_t*>(payload.data());
            measure::prepare_payload(bytes, payload.size(), tag);
            for (; sent < count; ++sent) {
                measure::stamp_payload(bytes, payload.size(), support::now_ns(), sent);
                publisher_.publish(topic, payload, qos, static_cast<unsigned>(sent + 1));
            }
        }
        if (page_)
            page_->page().sent.store(is_publishing() ? sent : 42);
        sleep_until(schedule.end());
        phase(measure::WorkerPhase::driven);
        say({{"event", "driven"},
             {"report", JsonObject{{"send", JsonObject{{"sent", sent}, {"completed", sent}}},
                                   {"receive", nullptr}}}});
        if (habit_.ends_with('+'))
            going_on_ = std::jthread([this](const std::stop_token& stop) {
                while (!stop.stop_requested())
                    publisher_.publish("t", std::string(64, 'x'), 0, 0);
            });
    }

    bool is_publishing() const { return habit_.starts_with("publish="); }
    void phase(measure::WorkerPhase now) {
        if (page_)
            page_->page().phase.store(static_cast<std::uint32_t>(now));
    }

    std::string habit_;
    support::LineChannel channel_;
    std::optional<measure::SharedPage> page_;
    Json spec_;
    Publisher publisher_;
    std::jthread going_on_;
};

// Everything that a child can see of how it was started.
int show_environment() {
    JsonArray variables, cpus, descriptors;
    for (char** variable = environ; *variable; ++variable)
        variables.emplace_back(*variable);
    cpu_set_t set{};
    ::sched_getaffinity(0, sizeof set, &set);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(cpu, &set))
            cpus.emplace_back(cpu);
    for (int fd = 0; fd < 1024; ++fd)
        if (::fcntl(fd, F_GETFD) >= 0)
            descriptors.emplace_back(fd);
    sigset_t blocked{};
    ::sigprocmask(SIG_SETMASK, nullptr, &blocked);
    support::LineChannel channel{support::UniqueFd(support::kControlDescriptor)};
    (void)channel.send(JsonObject{{"event", "seen"},
                                  {"variables", std::move(variables)},
                                  {"cpus", std::move(cpus)},
                                  {"descriptors", std::move(descriptors)},
                                  {"is_leader", ::getsid(0) == ::getpid()},
                                  {"blocks_sigint", ::sigismember(&blocked, SIGINT) == 1}});
    (void)channel.receive();
    return 0;
}

int leave_grandchild() {
    const pid_t pid = ::fork();
    if (pid == 0)
        for (;;)
            ::pause();
    support::LineChannel channel{support::UniqueFd(support::kControlDescriptor)};
    (void)channel.send(JsonObject{{"event", "seen"}, {"pid", pid}});
    (void)channel.receive();
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string habit = argc > 1 ? argv[1] : "";
    std::puts("a line in the log");
    std::fflush(stdout);
    if (habit == "environment")
        return show_environment();
    if (habit == "grandchild")
        return leave_grandchild();
    if (habit == "deaf")
        std::signal(SIGTERM, SIG_IGN);
    return Party(habit).serve();
}
