#pragma once
// TCP sockets of other processes, seen from outside: which ones a process holds, whether Nagle's
// algorithm is off on them, and what they have moved. Linux only; each answer may be an Error that
// says what this host does not permit.

#include "support/json.hpp"
#include "support/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace mqcore::machine {

struct TcpSocket {
    std::uint16_t local_port = 0;
    std::uint16_t remote_port = 0; // 0: listening
    std::uint64_t inode = 0;
    std::uint64_t bytes_sent = 0; // acknowledged by the other side
    std::uint64_t bytes_received = 0;
    // As the kernel counts them, in 32 bits that wrap around. Data segments carry payload; the rest
    // are acknowledgements alone and the connection's own. A segment on loopback may hold 64 KiB.
    struct Segments {
        std::uint32_t out = 0, in = 0, data_out = 0, data_in = 0, retransmitted = 0;
    };
    std::optional<Segments> segments; // nothing: a kernel before 4.6
};

// Every TCP socket of this network namespace with that local or remote port, by the kernel's
// sock_diag: no permission over the owner is needed.
support::Result<std::vector<TcpSocket>> sockets_at_port(std::uint16_t port);

// True when the process holds a listening socket on the port.
support::Result<bool> is_listening(pid_t pid, std::uint16_t port);

// The process's sockets that are connected to `port`. Takes each socket's lock for a moment.
using Connections = support::Result<std::vector<TcpSocket>>;
Connections connections_of(pid_t pid, std::uint16_t port);

// What a process's connections moved between two looks.
struct TcpUse {
    std::uint64_t connections = 0; // at the second look
    std::uint64_t segments_out = 0, segments_in = 0, data_segments_out = 0, data_segments_in = 0;
    std::uint64_t bytes_out = 0, bytes_in = 0; // payload of TCP, so with TLS what TLS makes of it
    std::uint64_t retransmitted = 0;           // segments sent again
};
// An Error where a look failed, or where a connection ended in between and took its counts along.
support::Result<TcpUse> use_between(const Connections& before, const Connections& after);
support::Json to_json(const TcpUse& use);

// TCP_NODELAY of the process's sockets that are connected to, or accepted on, `port`: one entry a
// socket. Borrows each descriptor by pidfd_getfd for one getsockopt and closes it at once.
struct NoDelay {
    std::uint16_t local_port = 0, remote_port = 0;
    bool is_set = false;
};
support::Result<std::vector<NoDelay>> no_delay_of(pid_t pid, std::uint16_t port);

} // namespace mqcore::machine
