#include "worker/host.hpp"

#include <cstdio>
#include <utility>

namespace mqcore::worker {
namespace {

constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};

void write_log(const mqcore_host*, std::int32_t level, const char* text) {
    const bool is_known = level >= 0 && level < static_cast<std::int32_t>(std::size(kLevels));
    std::fprintf(stderr, "[driver] %s: %s\n", is_known ? kLevels[level] : "log", text ? text : "");
}

} // namespace

DriverHost::DriverHost(std::string environment_folder)
    : mqcore_host{
          .size = sizeof(mqcore_host),
          .abi_major = MQCORE_ABI_MAJOR,
          .abi_minor = MQCORE_ABI_MINOR,
          .version = MQCORE_VERSION,
          .environment = nullptr,
          .extension = [](const mqcore_host*, const char*) -> const void* { return nullptr; },
          .log = write_log,
          .fail =
              [](const mqcore_host* host, std::int32_t status, const char* text) {
                  auto* self = static_cast<DriverHost*>(const_cast<mqcore_host*>(host));
                  const std::lock_guard lock(self->mutex_);
                  if (self->failure_)
                      return;
                  self->failure_ = Failure{status, text ? text : ""};
                  if (self->when_failed_)
                      self->when_failed_();
              },
          .note =
              [](const mqcore_host* host, const char* key, const char* value) {
                  auto* self = static_cast<DriverHost*>(const_cast<mqcore_host*>(host));
                  const std::lock_guard lock(self->mutex_);
                  if (key)
                      self->notes_[key] = value ? value : "";
              }},
      environment_folder_(std::move(environment_folder)) {
    if (!environment_folder_.empty())
        environment = environment_folder_.c_str();
}

std::optional<DriverHost::Failure> DriverHost::failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
}

void DriverHost::when_failed(std::function<void()> act) {
    const std::lock_guard lock(mutex_);
    when_failed_ = std::move(act);
    if (failure_)
        when_failed_();
}

support::Json DriverHost::notes() const {
    const std::lock_guard lock(mutex_);
    support::JsonObject notes;
    for (const auto& [key, value] : notes_)
        notes[key] = value;
    return notes;
}

std::string name_of_status(std::int32_t status) {
    constexpr const char* kNames[] = {"ok", "unsupported", "config", "network", "library"};
    return status >= 0 && status < static_cast<std::int32_t>(std::size(kNames))
               ? kNames[status]
               : "status " + std::to_string(status);
}

} // namespace mqcore::worker
