// mqcore/driver.hpp - driver.h for C++17 and later: a class becomes the table. Header only; nothing of
// the standard library crosses the boundary, so the compilers of driver and core may differ.
//
// A driver in C++ is a class, its claims and one macro:
//
//     class Driver {
//       public:
//         explicit Driver(mqcore::plugin::Host host);     // create(): import the library, no network
//         void connect(mqcore::plugin::Run run);          // returns when the broker has confirmed
//         void drive(mqcore::plugin::Source source, mqcore::plugin::Sink sink);
//         void disconnect();                              // no callback reaches the sink after it
//         const void* extension(std::string_view id);     // optional
//     };                                                  // the destructor is destroy()
//
//     constexpr auto kClaims = mqcore::plugin::Claims("my-driver", "My Library")
//                                  .shape(MQCORE_SHAPE_SYNC)
//                                  .protocols(MQCORE_V311)
//                                  .publish(MQCORE_QOS0 | MQCORE_QOS1)
//                                  .qos0_completion(MQCORE_QOS0_WRITTEN);
//     MQCORE_DRIVER(Driver, kClaims)
//
// A function that returns has succeeded. A function that cannot do what it was asked throws Failure
// with a status and the text for people; any other exception becomes MQCORE_LIBRARY with its what().
// That happens at the boundary of each call of the core into the driver. Callbacks that a library makes
// on its own threads are outside it: they must not throw.
//
// Every wrapper here is a pointer: copy it freely. Calls on the measured path are the calls of the C
// header and nothing else. What each call means, on which thread and until when a pointer is valid is
// written in driver.h; the thread tags here are those of driver.h.
#ifndef MQCORE_DRIVER_HPP
#define MQCORE_DRIVER_HPP

#include "mqcore/driver.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mqcore {
namespace plugin {

// The way to say that a call failed: throw Failure(MQCORE_NETWORK, "connection refused").
class Failure : public std::runtime_error {
  public:
    Failure(std::int32_t status, const std::string& text)
        : std::runtime_error(text), status_(status) {}

    std::int32_t status() const noexcept { return status_; }

  private:
    std::int32_t status_; // one of MQCORE_UNSUPPORTED, CONFIG, NETWORK, LIBRARY
};

// What the core offers besides source and sink.
class Host {
  public:
    explicit Host(const mqcore_host* raw) noexcept : raw_(raw) {}

    const char* version() const noexcept { return raw_->version; }
    const char* environment() const noexcept { return raw_->environment; } // null: none
    // The interface with that id, null when this core has none. [any-thread]
    template <class Interface>
    const Interface* extension(const char* id) const noexcept {
        return static_cast<const Interface*>(raw_->extension(raw_, id));
    }
    // [any-thread]
    void log(std::int32_t level, const std::string& text) const {
        raw_->log(raw_, level, text.c_str());
    }
    // For a connection that is lost outside a call; inside one throw Failure. [any-thread]
    void fail(std::int32_t status, const std::string& text) const {
        raw_->fail(raw_, status, text.c_str());
    }
    // [any-thread]
    void note(const std::string& key, const std::string& value) const {
        raw_->note(raw_, key.c_str(), value.c_str());
    }
    const mqcore_host* raw() const noexcept { return raw_; }

  private:
    const mqcore_host* raw_;
};

// An array of the core, to be looked at.
template <class Item>
class View {
  public:
    View(const Item* first, std::size_t count) noexcept : first_(first), count_(count) {}

    const Item* begin() const noexcept { return first_; }
    const Item* end() const noexcept { return first_ + count_; }
    std::size_t size() const noexcept { return count_; }
    bool empty() const noexcept { return count_ == 0; }
    const Item& operator[](std::size_t index) const noexcept { return first_[index]; }

  private:
    const Item* first_;
    std::size_t count_;
};

// What one run asks for; valid until the driver is destroyed.
class Run {
  public:
    explicit Run(const mqcore_run* raw) noexcept : raw_(raw) {}

    bool is_v5() const noexcept { return raw_->protocol == MQCORE_V5; }
    const char* host() const noexcept { return raw_->host; }
    std::uint16_t port() const noexcept { return static_cast<std::uint16_t>(raw_->port); }
    bool has_tls() const noexcept { return raw_->ca_file != nullptr; }
    const char* ca_file() const noexcept { return raw_->ca_file; }
    std::uint32_t connection_count() const noexcept { return raw_->connection_count; }
    // Of connection n: CLIENT_ID, CLIENT_ID-1, CLIENT_ID-2, ...
    std::string client_id(std::uint32_t connection = 0) const {
        std::string id = raw_->client_id;
        return connection == 0 ? id : id + '-' + std::to_string(connection);
    }
    View<const char*> topics() const noexcept { return {raw_->topics, raw_->topic_count}; }
    View<const char*> filters() const noexcept { return {raw_->filters, raw_->filter_count}; }
    std::uint32_t filter_qos() const noexcept { return raw_->filter_qos; }
    View<mqcore_option> options() const noexcept { return {raw_->options, raw_->option_count}; }
    // For a driver without options: Failure when the scenario sets one.
    void refuse_options() const {
        if (raw_->option_count > 0)
            throw Failure(MQCORE_CONFIG, std::string("unknown option '") + raw_->options[0].key +
                                             "': this driver has no options");
    }
    std::uint32_t keepalive_s() const noexcept { return raw_->keepalive_s; }
    std::uint32_t window() const noexcept { return raw_->window; }
    std::uint32_t payload_bytes_max() const noexcept { return raw_->payload_bytes_max; }
    std::uint32_t receive_maximum() const noexcept { return raw_->receive_maximum; } // 0: not sent
    // Sets of PUBLISH properties, by Message::properties().
    View<const mqcore_properties*> properties() const noexcept {
        return {raw_->properties, raw_->properties_count};
    }
    std::uint32_t topic_alias_max() const noexcept { return raw_->topic_alias_max; } // 0: none
    const mqcore_run* raw() const noexcept { return raw_; }

  private:
    const mqcore_run* raw_;
};

// One message to publish; it and its payload stay put until done() for its slot.
class Message {
  public:
    Message() noexcept = default;
    explicit Message(const mqcore_message* raw) noexcept : raw_(raw) {}

    const std::uint8_t* payload() const noexcept { return raw_->payload; }
    std::uint32_t payload_bytes() const noexcept { return raw_->payload_bytes; }
    std::uint16_t topic() const noexcept { return raw_->topic; } // index into Run::topics()
    std::uint16_t slot() const noexcept { return raw_->slot; }
    std::uint8_t qos() const noexcept { return raw_->qos; }
    bool retain() const noexcept { return raw_->retain != 0; }
    std::uint32_t connection() const noexcept { return raw_->connection; }
    bool has_properties() const noexcept { return raw_->properties != MQCORE_NONE; }
    std::uint16_t properties() const noexcept { return raw_->properties; }
    std::uint32_t topic_alias() const noexcept { return raw_->topic_alias; } // 0: none
    const mqcore_message* raw() const noexcept { return raw_; }

  private:
    const mqcore_message* raw_ = nullptr;
};

// The answers of Source::next().
enum class Next : std::int32_t {
    send = MQCORE_SEND,
    wait = MQCORE_WAIT,
    drain = MQCORE_DRAIN,
    stop = MQCORE_STOP
};

// Where messages come from. Inside drive() only.
class Source {
  public:
    explicit Source(mqcore_source* raw) noexcept : raw_(raw) {}

    // Next::send: `message` is set. [drive-thread]
    Next next(Message& message) const noexcept {
        const mqcore_message* out;
        const auto answer = static_cast<Next>(raw_->next(raw_, &out));
        if (answer == Next::send)
            message = Message(out);
        return answer;
    }
    // CLOCK_MONOTONIC, of the last Next::wait or Next::drain. [drive-thread]
    std::uint64_t wake_ns() const noexcept { return raw_->wake_ns; }
    // Blocks until wake_ns() or a done() that ends a full window. [drive-thread]
    void wait() const noexcept { raw_->wait(raw_); }
    mqcore_source* raw() const noexcept { return raw_; }

  private:
    mqcore_source* raw_;
};

// Where completions and arrivals go.
class Sink {
  public:
    Sink() noexcept = default;
    explicit Sink(mqcore_sink* raw) noexcept : raw_(raw) {}

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    // Once for each message. [any-thread]
    void done(std::uint32_t slot, std::int32_t status = MQCORE_OK) const noexcept {
        raw_->done(raw_, slot, status);
    }
    // Once for each arrival. [any-thread, one call at a time]
    void received(const void* payload, std::uint32_t payload_bytes,
                  std::uint32_t filter = MQCORE_NONE, std::uint32_t connection = 0) const noexcept {
        raw_->received(raw_, payload, payload_bytes, filter, connection);
    }
    mqcore_sink* raw() const noexcept { return raw_; }

  private:
    mqcore_sink* raw_ = nullptr;
};

// The claims of a driver, for a constexpr object at namespace scope. The same as in driver.toml.
class Claims {
  public:
    constexpr Claims(const char* id, const char* library) noexcept : info_{} {
        info_.size = sizeof(mqcore_info);
        info_.id = id;
        info_.library = library;
    }

    constexpr Claims shape(std::uint32_t shape) const noexcept {
        return with(&mqcore_info::shape, shape);
    }
    constexpr Claims protocols(std::uint32_t bits) const noexcept {
        return with(&mqcore_info::protocols, bits);
    }
    constexpr Claims publish(std::uint32_t qos_bits) const noexcept {
        return with(&mqcore_info::publish_qos, qos_bits);
    }
    constexpr Claims subscribe(std::uint32_t qos_bits) const noexcept {
        return with(&mqcore_info::subscribe_qos, qos_bits);
    }
    constexpr Claims features(std::uint32_t bits) const noexcept {
        return with(&mqcore_info::features, bits);
    }
    constexpr Claims max_window(std::uint32_t messages) const noexcept {
        return with(&mqcore_info::max_window, messages);
    }
    constexpr Claims qos0_completion(std::uint32_t completion) const noexcept {
        return with(&mqcore_info::qos0_completion, completion);
    }
    // The lowest minor version of the core that the driver works with; 0 where it is not said.
    constexpr Claims needs_host_minor(std::uint16_t minor) const noexcept {
        Claims changed = *this;
        changed.needs_host_minor_ = minor;
        return changed;
    }
    constexpr const mqcore_info& info() const noexcept { return info_; }
    constexpr std::uint16_t needs_host_minor() const noexcept { return needs_host_minor_; }

  private:
    constexpr Claims with(std::uint32_t mqcore_info::*field, std::uint32_t value) const noexcept {
        Claims changed = *this;
        changed.info_.*field = value;
        return changed;
    }

    mqcore_info info_;
    std::uint16_t needs_host_minor_ = 0;
};

namespace detail {

// Tells the host why a call of the core into the driver fails. From inside a catch block only.
inline std::int32_t report_current_exception(const mqcore_host* host) noexcept {
    try {
        throw;
    } catch (const Failure& failure) {
        host->fail(host, failure.status(), failure.what());
        return failure.status();
    } catch (const std::bad_alloc&) {
        host->fail(host, MQCORE_LIBRARY, "out of memory");
    } catch (const std::exception& exception) {
        host->fail(host, MQCORE_LIBRARY, exception.what());
    } catch (...) {
        host->fail(host, MQCORE_LIBRARY, "an exception of unknown type");
    }
    return MQCORE_LIBRARY;
}

template <class Driver, class = void>
struct HasExtension : std::false_type {};
template <class Driver>
struct HasExtension<Driver,
                    std::void_t<decltype(std::declval<Driver&>().extension(std::string_view()))>>
    : std::true_type {};

// The table of a driver class. Its functions have C++ language linkage: GCC and Clang call both alike.
template <class Driver, const Claims& kClaims>
class Table {
  public:
    static constexpr mqcore_driver make() noexcept {
        mqcore_driver table{};
        table.magic = MQCORE_MAGIC;
        table.size = sizeof(mqcore_driver);
        table.abi_major = MQCORE_ABI_MAJOR;
        table.abi_minor = MQCORE_ABI_MINOR;
        table.needs_host_minor = kClaims.needs_host_minor();
        table.info = &kClaims.info();
        table.create = create;
        table.connect = connect;
        table.drive = drive;
        table.disconnect = disconnect;
        table.destroy = destroy;
        if constexpr (HasExtension<Driver>::value)
            table.extension = extension;
        return table;
    }

  private:
    struct Instance {
        explicit Instance(const mqcore_host* host_) : host(host_), driver(Host(host_)) {}

        const mqcore_host* host;
        Driver driver;
    };

    static Instance& instance(void* self) noexcept { return *static_cast<Instance*>(self); }

    template <class Call>
    static std::int32_t guarded(const mqcore_host* host, Call&& call) noexcept {
        try {
            call();
            return MQCORE_OK;
        } catch (...) {
            return report_current_exception(host);
        }
    }

    static std::int32_t create(const mqcore_host* host, void** self) noexcept {
        *self = nullptr;
        return guarded(host, [&] { *self = new Instance(host); });
    }
    static std::int32_t connect(void* self, const mqcore_run* run) noexcept {
        return guarded(instance(self).host, [&] { instance(self).driver.connect(Run(run)); });
    }
    static std::int32_t drive(void* self, mqcore_source* source, mqcore_sink* sink) noexcept {
        return guarded(instance(self).host,
                       [&] { instance(self).driver.drive(Source(source), Sink(sink)); });
    }
    static std::int32_t disconnect(void* self) noexcept {
        return guarded(instance(self).host, [&] { instance(self).driver.disconnect(); });
    }
    static void destroy(void* self) noexcept { delete static_cast<Instance*>(self); }
    static const void* extension(void* self, const char* id) noexcept {
        const void* found = nullptr;
        guarded(instance(self).host, [&] { found = instance(self).driver.extension(id); });
        return found;
    }
};

} // namespace detail
} // namespace plugin
} // namespace mqcore

// Once, at namespace scope outside any namespace: exports the driver's entry. `claims` names a constexpr
// Claims object at namespace scope.
#define MQCORE_DRIVER(Driver, claims)                                                              \
    extern "C" MQCORE_EXPORT const mqcore_driver* mqcore_driver_entry(const char*) {               \
        static constexpr mqcore_driver kTable =                                                    \
            ::mqcore::plugin::detail::Table<Driver, claims>::make();                               \
        return &kTable;                                                                            \
    }

#endif
