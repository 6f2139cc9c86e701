#pragma once
// How a hosted tenant comes by its two descriptors, the socket to its host and the shared page, and
// how it is tied to its host's life. Called once, when the tenant starts, on its main thread.

#include <sys/types.h>

#include <string>

#include "engine/base/unique_fd.h"

namespace cosched {

struct HostLink {
  UniqueFd socket;
  UniqueFd counters;
};

// Where a host is to be found, as it says on the command line.
struct HostAddress {
  // The control socket and the shared page: inherited, or else (both -1) had by connecting to
  // host_socket.
  int host_fd = -1;
  int counters_fd = -1;
  pid_t host_pid = -1;  // The parent that left them open.
  std::string host_socket;
};
HostLink LinkToHost(const HostAddress& host);

// Those that a host has left open for its child.
HostLink InheritedLink(int socket, int counters);

// From now on the kernel kills this process when its host, which is its parent, ends, even if it is
// stopped then. The host has asked for that before this program was executed, but the execution of
// a file with capabilities (setcap) undoes it, and hides the environment by which a host finds what
// a tenant has forked; this makes up for both. Throws std::runtime_error if the host is gone
// already.
void DieWithHost(pid_t host);

// Connects to a SEQPACKET socket, such as one that is bind-mounted into a container, and waits for
// the host's welcome. Throws std::runtime_error if there is no host, or none that speaks this
// version.
HostLink ConnectToHost(const std::string& path);

}  // namespace cosched
