#pragma once
// How a hosted tenant comes by its two descriptors: the socket to its host and the shared page.
// Called once, when the tenant starts.

#include <string>

#include "experiments/hosts/unique_fd.h"

namespace cosched {

struct HostLink {
  UniqueFd socket;
  UniqueFd counters;
};

// Those that a host has left open for its child.
HostLink InheritedLink(int socket, int counters);

// Connects to a SEQPACKET socket, such as one that is bind-mounted into a container, and waits for
// the host's welcome. Throws std::runtime_error if there is no host, or none that speaks this
// version.
HostLink ConnectToHost(const std::string& path);

}  // namespace cosched
