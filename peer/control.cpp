#include "peer/control.hpp"

#include <asio/buffer.hpp>

#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace mqcore::peer {

Control::Control(asio::io_context& io, support::UniqueFd fd,
                 std::function<void(support::Result<support::Json>)> on_document,
                 std::function<void()> on_end)
    : descriptor_(io, fd.release()), on_document_(std::move(on_document)),
      on_end_(std::move(on_end)) {
    read();
}

void Control::read() {
    descriptor_.async_read_some(
        asio::buffer(block_), [this](const asio::error_code& error, std::size_t got) {
            if (error)
                return on_end_();
            buffered_.append(block_, got);
            for (std::size_t end; (end = buffered_.find('\n')) != std::string::npos;) {
                const std::string line = buffered_.substr(0, end);
                buffered_.erase(0, end + 1);
                on_document_(support::parse_json(line, "control channel"));
            }
            read();
        });
}

void Control::send(const support::Json& document) {
    const std::string line = support::print_json(document) + "\n";
    const int fd = descriptor_.native_handle();
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t written = ::send(fd, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (written > 0) {
            sent += static_cast<std::size_t>(written);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            pollfd ready{fd, POLLOUT, 0};
            ::poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return; // the parent is gone; the reading side ends the process
        }
    }
}

} // namespace mqcore::peer
