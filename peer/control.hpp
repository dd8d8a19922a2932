#pragma once
// The peer's end of the control channel (support/channel.hpp) inside its event loop: documents come
// as calls, and the parent's end is noticed at once, also in the middle of a drive.

#include "support/json.hpp"
#include "support/result.hpp"
#include "support/unique_fd.hpp"

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>

namespace mqcore::peer {

class Control {
  public:
    // `on_document` gets each document, or an Error for a line that is none; `on_end` is called once
    // when the parent has closed its end.
    Control(asio::io_context& io, support::UniqueFd fd,
            std::function<void(support::Result<support::Json>)> on_document,
            std::function<void()> on_end);

    // The whole line, waiting for the parent to take it when it must: never inside a measured window.
    void send(const support::Json& document);

  private:
    void read();

    asio::posix::stream_descriptor descriptor_;
    std::function<void(support::Result<support::Json>)> on_document_;
    std::function<void()> on_end_;
    std::string buffered_;
    char block_[4096];
};

} // namespace mqcore::peer
