#include "experiments/tenant/host_link.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include "experiments/wire/tenant_protocol.h"

namespace cosched {
namespace {

// A host answers at once; one that does not is gone or no host.
constexpr int kWelcomeMilliseconds = 10'000;

[[noreturn]] void Fail(const std::string& path, const std::string& problem) {
  throw std::runtime_error(path + ": " + problem);
}

UniqueFd ConnectSocket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) Fail(path, "too long for a socket's path");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket ||
      connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::system_error(errno, std::generic_category(), path + ": connecting to the host");
  }
  return socket;
}

}  // namespace

HostLink LinkToHost(const HostAddress& host) {
  return host.host_socket.empty() ? InheritedLink(host.host_fd, host.counters_fd)
                                  : ConnectToHost(host.host_socket);
}

HostLink InheritedLink(int socket, int counters) {
  // Inherited without CLOEXEC, by design; nothing that this process might start shall have them.
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  fcntl(counters, F_SETFD, FD_CLOEXEC);
  return {UniqueFd(socket), UniqueFd(counters)};
}

void DieWithHost(pid_t host) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    throw std::system_error(errno, std::generic_category(), "PR_SET_PDEATHSIG");
  }
  // Who may look is still only who has these capabilities too (ptrace(2)).
  prctl(PR_SET_DUMPABLE, 1);
  // The host may have ended before the kernel was asked.
  if (getppid() != host) {
    throw std::runtime_error("the host, process " + std::to_string(host) + ", is gone");
  }
}

HostLink ConnectToHost(const std::string& path) {
  HostLink link{ConnectSocket(path), UniqueFd()};
  pollfd descriptor{link.socket.get(), POLLIN, 0};
  int ready;
  do {
    ready = poll(&descriptor, 1, kWelcomeMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) Fail(path, "the host does not answer");
  std::string text;
  if (ReceivePacket(link.socket.get(), &text, &link.counters) != Receipt::kPacket) {
    Fail(path, "the host hung up");
  }
  const Parsed<HostMessage> parsed = ParseHostMessage(text);
  if (!parsed.message) Fail(path, "the host's welcome can't be read: " + parsed.error);
  if (!std::holds_alternative<WelcomeMessage>(*parsed.message) || !link.counters) {
    Fail(path, "the host gave no page of counters");
  }
  return link;
}

}  // namespace cosched
