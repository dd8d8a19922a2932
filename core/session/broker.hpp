#pragma once
// The broker of a session. Managed: a Mosquitto child on free loopback ports, memory only, with our
// configuration (mosquitto/mosquitto.conf.in) and a certificate authority made for this session.
// External: somebody else's broker at an address, of which mqcore samples nothing.

#include "session/child.hpp"
#include "session/temp_dir.hpp"

#include <cstdint>
#include <map>

namespace mqcore::session {

// What the manifest says about it.
struct BrokerIdentity {
    bool is_managed = true;
    std::string version;       // "2.0.11"; external: what $SYS says, or empty
    std::string config_sha256; // of the configuration without ports and paths; empty: external
    std::string binary_sha256; // empty: external
    std::string config;        // the same text as was hashed
};

Json to_json(const BrokerIdentity& identity);

// Where the parties connect. The address is numeric for a managed broker and for a plain external
// one, so that every party uses the same address family.
struct Listener {
    std::string host;
    std::uint16_t port = 0;
    std::string ca_file; // empty: plain TCP
};

struct BrokerUrl {
    std::string host; // without brackets: "::1", "fe80::1%eth0", "broker.example"
    std::uint16_t port = 0;
    bool has_tls = false; // mqtts://
};

// mqtt://HOST[:PORT] or mqtts://HOST[:PORT]; HOST may be a name, 127.0.0.1 or [::1]. The error says
// what is wrong and shows a right one.
support::Result<BrokerUrl> parse_broker_url(std::string_view text);

class Broker {
  public:
    virtual ~Broker() = default;

    // Nothing: it has no listener of that kind.
    virtual std::optional<Listener> plain() const = 0;
    virtual std::optional<Listener> tls() const = 0;
    virtual const BrokerIdentity& identity() const = 0;
    // Null: not ours; then why_no_process() says so.
    virtual Child* process() = 0;
    virtual std::string why_no_process() const = 0;
    // A fresh one after it died; counters start anew, ports may change.
    virtual support::Result<void> restart() = 0;
};

// Direct mode: the peer is the server, at a port of its own in every run, and nothing else is there.
class NoBroker final : public Broker {
  public:
    static constexpr const char* kWhy = "direct mode: there is no broker, the peer is the server";

    void listen_at(Listener listener) { listener_ = std::move(listener); }
    std::optional<Listener> plain() const override {
        return listener_ && listener_->ca_file.empty() ? listener_ : std::nullopt;
    }
    std::optional<Listener> tls() const override {
        return listener_ && !listener_->ca_file.empty() ? listener_ : std::nullopt;
    }
    const BrokerIdentity& identity() const override { return identity_; }
    Child* process() override { return nullptr; }
    std::string why_no_process() const override { return kWhy; }
    support::Result<void> restart() override { return {}; }

  private:
    std::optional<Listener> listener_;
    BrokerIdentity identity_{.is_managed = false};
};

struct ManagedBrokerOptions {
    std::vector<int> cpus;
    std::filesystem::path log_file;
    // For tests: ports to try first (0: any free one).
    std::uint16_t first_plain_port = 0;
    std::uint16_t first_tls_port = 0;
};

support::Result<std::unique_ptr<Broker>> start_managed_broker(Supervisor& supervisor,
                                                              const ManagedBrokerOptions& options);

// Tries the addresses that the name stands for and keeps the first that accepts; the error lists
// all that were tried.
support::Result<std::unique_ptr<Broker>> use_external_broker(const BrokerUrl& url,
                                                             const std::string& ca_file);

} // namespace mqcore::session
