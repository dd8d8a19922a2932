#pragma once
// Owns one file descriptor and closes it once.

#include <utility>

#include <unistd.h>

namespace mqcore::support {

class UniqueFd {
  public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    ~UniqueFd() { reset(); }

    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }
    int release() { return std::exchange(fd_, -1); }
    void reset(int fd = -1) {
        if (const int old = std::exchange(fd_, fd); old >= 0)
            ::close(old);
    }

  private:
    int fd_ = -1;
};

} // namespace mqcore::support
