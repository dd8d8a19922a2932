#pragma once
// TCP sockets of other processes, seen from outside: which ones a process holds, whether Nagle's
// algorithm is off on them, and how many bytes they have moved. Linux only; each answer may be an
// Error that says what this host does not permit.

#include "support/result.hpp"

#include <cstdint>
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
};

// Every TCP socket of this network namespace with that local or remote port, by the kernel's
// sock_diag: no permission over the owner is needed.
support::Result<std::vector<TcpSocket>> sockets_at_port(std::uint16_t port);

// True when the process holds a listening socket on the port.
support::Result<bool> is_listening(pid_t pid, std::uint16_t port);

// TCP_NODELAY of the process's sockets that are connected to, or accepted on, `port`: one entry a
// socket. Borrows each descriptor by pidfd_getfd for one getsockopt and closes it at once.
struct NoDelay {
    std::uint16_t local_port = 0, remote_port = 0;
    bool is_set = false;
};
support::Result<std::vector<NoDelay>> no_delay_of(pid_t pid, std::uint16_t port);

} // namespace mqcore::machine
