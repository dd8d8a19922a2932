#pragma once
// The control channel of a worker or a peer: a private socketpair on descriptor 3, one JSON document
// a line, in both directions. Not stdin or stdout: client libraries print. This is the child's
// blocking end, for a process that has nothing else to do while it waits for its parent.

#include "support/json.hpp"
#include "support/unique_fd.hpp"

#include <mutex>
#include <string>

namespace mqcore::support {

constexpr int kControlDescriptor = 3;

class LineChannel {
  public:
    explicit LineChannel(UniqueFd fd) : fd_(std::move(fd)) {}

    int fd() const { return fd_.get(); }
    // The next document; an Error with ErrorCode::interrupted when the other side is gone.
    Result<Json> receive();
    // Whole line or an Error. [any thread]
    Result<void> send(const Json& document);

  private:
    UniqueFd fd_;
    std::string buffered_;
    std::mutex sending_; // guards the descriptor's write side: lines never interleave
};

} // namespace mqcore::support
