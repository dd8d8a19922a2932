#pragma once
// Result<T>: a value or an Error, for every operation of the core that can fail. Exceptions of
// libraries are caught in the folder that owns the library and become an Error there. An Error's
// code decides the exit code and the status of a run; its texts are for people and answer what
// happened, where, and what to do next.

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace mqcore::support {

enum class ErrorCode {
    wrong_input, // a scenario file or a command line: exit code 2
    host,        // this machine, a missing program, a full disk: exit code 3
    driver,      // a driver that cannot be loaded or breaks its contract: exit code 3
    broker,      // the broker
    peer,        // the peer
    client,      // the client library under test
    interrupted, // SIGINT or SIGTERM: exit code 130
    internal,    // our own mistake
};

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message; // what happened and where, values and paths quoted
    std::string hint;    // what to do next; may be empty
};

// "message" or "message (hint)": one line.
inline std::string one_line(const Error& error) {
    return error.hint.empty() ? error.message : error.message + " (" + error.hint + ")";
}

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    const Error& error() const& { return std::get<1>(state_); }
    Error&& error() && { return std::get<1>(std::move(state_)); }

  private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return !error_; }
    const Error& error() const& { return *error_; }
    Error&& error() && { return *std::move(error_); }

  private:
    std::optional<Error> error_;
};

} // namespace mqcore::support
