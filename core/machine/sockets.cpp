#include "machine/sockets.hpp"

#include "machine/proc_text.hpp"
#include "support/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <utility>

namespace mqcore::machine {
namespace {

using support::Error;
using support::ErrorCode;
using support::UniqueFd;

Error system_error(std::string_view what) {
    return {ErrorCode::host, fmt::format("{}: {}", what, std::strerror(errno)), {}};
}

TcpSocket socket_of(const nlmsghdr* header) {
    const auto* message = static_cast<const inet_diag_msg*>(NLMSG_DATA(header));
    TcpSocket socket{.local_port = ntohs(message->id.idiag_sport),
                     .remote_port = ntohs(message->id.idiag_dport),
                     .inode = message->idiag_inode};
    const auto* attribute = reinterpret_cast<const nlattr*>(message + 1);
    auto left = static_cast<std::size_t>(header->nlmsg_len) - NLMSG_LENGTH(sizeof *message);
    while (left >= sizeof *attribute && attribute->nla_len >= sizeof *attribute &&
           attribute->nla_len <= left) {
        if (attribute->nla_type == INET_DIAG_INFO) {
            tcp_info info{};
            const std::size_t length = attribute->nla_len - sizeof *attribute;
            std::memcpy(&info, attribute + 1, std::min(sizeof info, length));
            socket.bytes_sent = info.tcpi_bytes_acked;
            socket.bytes_received = info.tcpi_bytes_received;
            if (length >= offsetof(tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out)
                socket.segments = {.out = info.tcpi_segs_out,
                                   .in = info.tcpi_segs_in,
                                   .data_out = info.tcpi_data_segs_out,
                                   .data_in = info.tcpi_data_segs_in,
                                   .retransmitted = info.tcpi_total_retrans};
        }
        const std::size_t step = NLA_ALIGN(attribute->nla_len);
        if (step >= left)
            break;
        left -= step;
        attribute =
            reinterpret_cast<const nlattr*>(reinterpret_cast<const char*>(attribute) + step);
    }
    return socket;
}

// sock_diag(7): all TCP sockets of one address family.
support::Result<void> dump_sockets(int netlink, std::uint8_t family, std::uint16_t port,
                                   std::vector<TcpSocket>& into) {
    struct {
        nlmsghdr header;
        inet_diag_req_v2 request;
    } message{};
    message.header.nlmsg_len = sizeof message;
    message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.request.sdiag_family = family;
    message.request.sdiag_protocol = IPPROTO_TCP;
    message.request.idiag_ext = 1 << (INET_DIAG_INFO - 1);
    // Established, closing by us or by them, and listening; TIME_WAIT moves nothing any more.
    message.request.idiag_states = 1u << 1 /* TCP_ESTABLISHED */ | 1u << 4 /* TCP_FIN_WAIT1 */ |
                                   1u << 8 /* TCP_CLOSE_WAIT */ | 1u << 10 /* TCP_LISTEN */;
    if (::send(netlink, &message, sizeof message, 0) < 0)
        return system_error("sock_diag");
    alignas(nlmsghdr) std::array<char, 32768> block;
    for (;;) {
        const ssize_t got = ::recv(netlink, block.data(), block.size(), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return system_error("sock_diag");
        auto left = static_cast<unsigned>(got);
        for (const auto* header = reinterpret_cast<const nlmsghdr*>(block.data());
             NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
            if (header->nlmsg_type == NLMSG_DONE)
                return {};
            if (header->nlmsg_type == NLMSG_ERROR) {
                errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
                return system_error("sock_diag");
            }
            const TcpSocket socket = socket_of(header);
            if (socket.local_port == port || socket.remote_port == port)
                into.push_back(socket);
        }
    }
}

// Descriptor and inode of every socket that the process holds.
support::Result<std::vector<std::pair<int, std::uint64_t>>> sockets_of(pid_t pid) {
    std::error_code error;
    std::vector<std::pair<int, std::uint64_t>> sockets;
    std::filesystem::directory_iterator entry(fmt::format("/proc/{}/fd", pid), error);
    for (const auto end = std::filesystem::directory_iterator(); !error && entry != end;
         entry.increment(error)) {
        std::error_code ignored; // closed since the folder was listed
        const std::string target = std::filesystem::read_symlink(entry->path(), ignored).string();
        constexpr std::string_view kPrefix = "socket:[";
        if (!target.starts_with(kPrefix))
            continue;
        const auto fd = number_in<int>(entry->path().filename().string());
        const auto inode = number_in<std::uint64_t>(target.substr(kPrefix.size()));
        if (fd && inode)
            sockets.emplace_back(*fd, *inode);
    }
    if (error)
        return Error{
            ErrorCode::host, fmt::format("cannot read /proc/PID/fd: {}", error.message()), {}};
    return sockets;
}

const TcpSocket* with_inode(const std::vector<TcpSocket>& sockets, std::uint64_t inode) {
    const auto found = std::ranges::find(sockets, inode, &TcpSocket::inode);
    return found == sockets.end() ? nullptr : &*found;
}

} // namespace

support::Result<std::vector<TcpSocket>> sockets_at_port(std::uint16_t port) {
    const UniqueFd netlink(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (!netlink)
        return system_error("sock_diag");
    std::vector<TcpSocket> sockets;
    for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}})
        if (auto dumped = dump_sockets(netlink.get(), family, port, sockets); !dumped)
            return dumped.error();
    return sockets;
}

support::Result<bool> is_listening(pid_t pid, std::uint16_t port) {
    const auto here = sockets_at_port(port);
    const auto held = sockets_of(pid);
    if (!here || !held)
        return here ? held.error() : here.error();
    return std::ranges::any_of(*held, [&](const auto& entry) {
        const TcpSocket* socket = with_inode(*here, entry.second);
        return socket && socket->local_port == port && socket->remote_port == 0;
    });
}

Connections connections_of(pid_t pid, std::uint16_t port) {
    const auto here = sockets_at_port(port);
    const auto held = sockets_of(pid);
    if (!here || !held)
        return here ? held.error() : here.error();
    const auto holds = [&](std::uint64_t inode) {
        return std::ranges::any_of(*held, [&](const auto& entry) { return entry.second == inode; });
    };
    std::vector<TcpSocket> found;
    for (const TcpSocket& socket : *here) // once, however many descriptors lead to it
        if (socket.remote_port == port && holds(socket.inode))
            found.push_back(socket);
    if (found.empty())
        return Error{ErrorCode::host, "the process has no TCP socket at the broker's port", {}};
    return found;
}

support::Result<TcpUse> use_between(const Connections& before, const Connections& after) {
    if (!before || !after)
        return before ? after.error() : before.error();
    for (const TcpSocket& socket : *before)
        if (!with_inode(*after, socket.inode))
            return Error{
                ErrorCode::host, "a connection ended meanwhile and took its counts along", {}};
    TcpUse use{.connections = after->size()};
    for (const TcpSocket& now : *after) {
        const TcpSocket* found = with_inode(*before, now.inode);
        // A connection that is new in the window counts from its first segment.
        const TcpSocket old = found ? *found : TcpSocket{.segments = TcpSocket::Segments{}};
        if (!now.segments || !old.segments)
            return Error{
                ErrorCode::host, "the kernel is older than 4.6 and counts no segments", {}};
        const auto add = [](std::uint64_t& sum, std::uint32_t from, std::uint32_t to) {
            sum += static_cast<std::uint32_t>(to - from); // right across a wrap, too
        };
        add(use.segments_out, old.segments->out, now.segments->out);
        add(use.segments_in, old.segments->in, now.segments->in);
        add(use.data_segments_out, old.segments->data_out, now.segments->data_out);
        add(use.data_segments_in, old.segments->data_in, now.segments->data_in);
        add(use.retransmitted, old.segments->retransmitted, now.segments->retransmitted);
        use.bytes_out += now.bytes_sent - old.bytes_sent;
        use.bytes_in += now.bytes_received - old.bytes_received;
    }
    return use;
}

support::Json to_json(const TcpUse& use) {
    return support::JsonObject{{"connections", use.connections},
                               {"segments_out", use.segments_out},
                               {"segments_in", use.segments_in},
                               {"data_segments_out", use.data_segments_out},
                               {"data_segments_in", use.data_segments_in},
                               {"bytes_out", use.bytes_out},
                               {"bytes_in", use.bytes_in},
                               {"retransmitted", use.retransmitted}};
}

support::Result<std::vector<NoDelay>> no_delay_of(pid_t pid, std::uint16_t port) {
    const auto here = sockets_at_port(port);
    const auto held = sockets_of(pid);
    if (!here || !held)
        return here ? held.error() : here.error();
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process)
        return system_error("pidfd_open");
    std::vector<NoDelay> found;
    for (const auto& [descriptor, inode] : *held) {
        const TcpSocket* socket = with_inode(*here, inode);
        if (!socket || socket->remote_port == 0)
            continue;
        const UniqueFd borrowed(
            static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
        if (!borrowed)
            return system_error("pidfd_getfd");
        int is_set = 0;
        socklen_t length = sizeof is_set;
        if (::getsockopt(borrowed.get(), IPPROTO_TCP, TCP_NODELAY, &is_set, &length) != 0)
            return system_error("getsockopt");
        found.push_back({socket->local_port, socket->remote_port, is_set != 0});
    }
    return found;
}

} // namespace mqcore::machine
