#pragma once
// Where a tenant's control socket is and who may have it: in a directory of its user's own (mode
// 0700), $XDG_RUNTIME_DIR/cosched or /tmp/cosched-<uid>, itself of mode 0600. A tenant listens at
// <pid>.<PID namespace>.sock unless told otherwise: containers that share the directory may have
// equal process numbers. A host also names its tenants <run>-<job>.sock, by a link.
// Used by tenants, hosts and `cosched ctl`. Stateless but for the files; thread-safe.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/unique_fd.h"

namespace cosched {

// Makes the directory if need be. Throws InputError if it is somebody else's, a symbolic link, open
// to others, or can't be made: then nothing in it can be trusted.
std::filesystem::path ControlDirectory();

// "<pid>.<PID namespace>.sock", of a process of this namespace.
std::string ControlName(int process);
// "<run>-<job>.sock"
std::string ControlName(std::string_view run, int64_t job);

// Where this process listens unless told otherwise; "" if there is no such directory to be had, of
// which a line on stderr tells: a tenant can do its work without.
std::string DefaultControlPath();

// Listens as long as it lives, then removes the socket. Any thread.
class ControlListener {
 public:
  // Takes over a stale socket (nobody listens any more). At no moment is there a socket of this
  // name at which nobody listens yet: that would look stale to others. Throws InputError if another
  // tenant listens there, or the path can't be used.
  explicit ControlListener(const std::filesystem::path& path);
  ~ControlListener();
  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;

  int fd() const { return fd_.get(); }
  const std::filesystem::path& path() const { return path_; }

 private:
  const std::filesystem::path path_;
  UniqueFd fd_;
};

// A host's name for a tenant of its ("" = none), as long as this lives; takes the tenant's socket
// away with it, which a killed tenant leaves behind. A name that leads to a living tenant of
// another host stays that one's. What is wrong with the directory is ignored: the tenant can do its
// work without.
class ControlLink {
 public:
  // `socket`: where it listens; a relative path is one in the ControlDirectory.
  ControlLink(const std::string& name, std::filesystem::path socket);
  ~ControlLink();
  ControlLink(const ControlLink&) = delete;
  ControlLink& operator=(const ControlLink&) = delete;

 private:
  std::filesystem::path path_;    // Empty = it has no name.
  std::filesystem::path target_;  // Target of the link.
  std::filesystem::path socket_;  // Empty = none.
};

// The socket of a target: a process's number, a socket's path, or "run:job". Throws InputError if
// it is none of them.
std::filesystem::path ControlPath(std::string_view target);
// Connects, and checks that who listens is of this user or root. Throws InputError if there is no
// such tenant, with the names of those there are.
UniqueFd ConnectToTenant(std::string_view target);
// Removes sockets of this user at which nobody listens any more, and names that lead to none and
// whose tenant is gone: one that starts does not listen yet. Names whose tenant is of another PID
// namespace stay. Returns their paths; none if the directory can't be trusted.
std::vector<std::filesystem::path> CleanControlDirectory();
// The user at the other end is this one or root.
bool PeerIsTrusted(int socket);

}  // namespace cosched
