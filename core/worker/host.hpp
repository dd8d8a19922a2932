#pragma once
// What the core offers a driver besides source and sink: log, failure text, provenance notes.

#include "mqcore/driver.h"
#include "support/json.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace mqcore::worker {

class DriverHost : public mqcore_host {
  public:
    // environment_folder: the driver's language environment; empty: none.
    explicit DriverHost(std::string environment_folder);
    DriverHost(const DriverHost&) = delete;
    DriverHost& operator=(const DriverHost&) = delete;

    struct Failure {
        std::int32_t status;
        std::string text;
    };
    std::optional<Failure> failure() const; // the first one that the driver told
    // Called once, at the first failure and in the thread that tells it, at once if there was one.
    void when_failed(std::function<void()> act);
    support::Json notes() const; // {key: value}

  private:
    std::string environment_folder_;
    mutable std::mutex mutex_; // guards the rest; drivers call from any thread
    std::optional<Failure> failure_;
    std::function<void()> when_failed_;
    std::map<std::string, std::string> notes_;
};

// "ok", "unsupported", "config", "network", "library", or "status N".
std::string name_of_status(std::int32_t status);

} // namespace mqcore::worker
