#include "support/channel.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>

namespace mqcore::support {

Result<Json> LineChannel::receive() {
    for (;;) {
        if (const std::size_t end = buffered_.find('\n'); end != std::string::npos) {
            const std::string line = buffered_.substr(0, end);
            buffered_.erase(0, end + 1);
            return parse_json(line, "control channel");
        }
        char block[4096];
        const ssize_t got = ::recv(fd_.get(), block, sizeof block, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return Error{ErrorCode::interrupted, "the control channel was closed", {}};
        buffered_.append(block, static_cast<std::size_t>(got));
    }
}

Result<void> LineChannel::send(const Json& document) {
    const std::string line = print_json(document) + "\n";
    const std::lock_guard lock(sending_);
    std::size_t sent = 0;
    while (sent < line.size()) {
        const ssize_t written =
            ::send(fd_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return Error{ErrorCode::interrupted,
                         std::string("the control channel broke: ") + std::strerror(errno),
                         {}};
        sent += static_cast<std::size_t>(written);
    }
    return {};
}

} // namespace mqcore::support
