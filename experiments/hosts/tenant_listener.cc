#include "experiments/hosts/tenant_listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

namespace cosched {

UniqueFd ListenForTenant(const std::filesystem::path& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) {
    throw std::runtime_error(
        fmt::format("the path of its socket is longer than {} characters: {} (XDG_RUNTIME_DIR and "
                    "TMPDIR say where)",
                    sizeof address.sun_path - 1, path.string()));
  }
  std::strcpy(address.sun_path, path.c_str());
  if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(path.c_str(), 0600) != 0 || listen(fd.get(), 4) != 0) {
    throw std::system_error(errno, std::generic_category(), "listening on " + path.string());
  }
  return fd;
}

TenantConnection AcceptTenant(int listener) {
  TenantConnection connection{
      UniqueFd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))};
  ucred peer{};
  socklen_t size = sizeof peer;
  if (connection.socket &&
      getsockopt(connection.socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    connection.process = peer.pid;
  }
  return connection;
}

}  // namespace cosched
