#include "experiments/wire/control_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "experiments/os/owner.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr int kBacklog = 8;
constexpr std::string_view kSuffix = ".sock";

[[noreturn]] void Refuse(const std::string& key, std::string problem, std::string allowed = "") {
  InputErrorDetails details;
  details.key = key;
  details.problem = std::move(problem);
  details.allowed = std::move(allowed);
  throw InputError(std::move(details));
}

std::string Reason(int error) { return std::generic_category().message(error); }

bool IsProcessNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// $XDG_RUNTIME_DIR if it is one: it may name a directory that is gone (su, containers).
fs::path Parent() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  std::error_code ignored;
  if (runtime != nullptr && runtime[0] == '/' && fs::is_directory(runtime, ignored)) {
    return fs::path(runtime) / "cosched";
  }
  return "/tmp/cosched-" + std::to_string(geteuid());
}

sockaddr_un Address(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof address.sun_path) {
    Refuse(text, "no path for a socket",
           "1 to " + std::to_string(sizeof address.sun_path - 1) + " characters");
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

UniqueFd NewSocket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

// 0, or why not.
int ConnectTo(int fd, const fs::path& path) {
  const sockaddr_un address = Address(path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

std::optional<ucred> Peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

// The parts of "<pid>.<PID namespace>".
struct ProcessName {
  std::string pid, pid_namespace;
};
std::optional<ProcessName> ParseProcessName(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return std::nullopt;
  ProcessName process{name.substr(0, dot), name.substr(dot + 1)};
  if (!IsProcessNumber(process.pid) || !IsProcessNumber(process.pid_namespace)) return std::nullopt;
  return process;
}

// Whose the socket is to which a name leads: it may listen there yet, or live where that can't be
// known. Of a tenant in a container the host is asked for, whose folder the socket is in.
bool MayListenYet(const fs::path& socket) {
  if (const auto process = ParseProcessName(socket.stem())) {
    return process->pid_namespace != PidNamespaceHere() || fs::exists("/proc/" + process->pid);
  }
  for (const fs::path& part : socket) {
    const std::string name = part.string();
    const std::string owner = name.substr(0, name.find('-'));
    if (IsOwnerName(owner)) return StateOfOwner(owner) != OwnerState::kGone;
  }
  return false;
}

// Binds and listens under another name first. 0, or why not.
int ListenUnder(int fd, const fs::path& path) {
  const sockaddr_un address = Address(path);
  unlink(path.c_str());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return errno;
  return listen(fd, kBacklog) == 0 ? 0 : errno;
}

// As long as the path: that of a socket may not be much longer.
fs::path NameBefore(const fs::path& path) {
  std::string name = path.filename().string();
  if (!name.empty()) name.back() = name.back() == '~' ? '#' : '~';
  return path.parent_path() / name;
}

// The living ones in the directory, as ControlPath understands them: pids, and names of hosts.
std::string Tenants() {
  std::string names;
  std::error_code ignored;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(ControlDirectory(), ignored)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    if (path.extension() != kSuffix || ConnectTo(NewSocket().get(), path) != 0) continue;
    std::string name = path.stem();
    if (const std::optional<ProcessName> process = ParseProcessName(name)) {
      name = process->pid_namespace == PidNamespaceHere() ? process->pid : path.string();
    } else if (const size_t dash = name.rfind('-'); dash != std::string::npos) {
      name[dash] = ':';
    }
    names += (names.empty() ? "" : ", ") + name;
  }
  return names.empty() ? "none is running" : "running are " + names;
}

}  // namespace

fs::path ControlDirectory() {
  fs::path path = Parent();
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    Refuse(path, "can't be made: " + Reason(errno));
  }
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) Refuse(path, Reason(errno));
  if (!S_ISDIR(status.st_mode)) Refuse(path, "is no directory");
  if (status.st_uid != geteuid()) {
    Refuse(path, "belongs to user " + std::to_string(status.st_uid), "a directory of one's own");
  }
  if ((status.st_mode & 077) != 0) Refuse(path, "is open to others", "mode 0700");
  return path;
}

std::string DefaultControlPath() {
  try {
    return ControlDirectory() / ControlName(getpid());
  } catch (const InputError& error) {
    std::fprintf(stderr, "no control socket: %s\n", error.what());
    return "";
  }
}

std::string ControlName(int process) {
  return std::to_string(process) + "." + PidNamespaceHere() + std::string(kSuffix);
}

std::string ControlName(std::string_view run, int64_t job) {
  return std::string(run) + "-" + std::to_string(job) + std::string(kSuffix);
}

ControlListener::ControlListener(const fs::path& path) : path_(path), fd_(NewSocket()) {
  Address(path);  // Refuses one that is too long.
  // The file is made with the mode that the socket has: at no moment is it open to others.
  fchmod(fd_.get(), 0600);
  const fs::path before = NameBefore(path);
  int error = ListenUnder(fd_.get(), before);
  const auto publish = [&] { return link(before.c_str(), path.c_str()) == 0 ? 0 : errno; };
  std::string problem;
  if (error == 0 && (error = publish()) == EEXIST) {
    if (!fs::is_socket(fs::symlink_status(path))) {
      problem = "is there and no socket";
    } else if (ConnectTo(NewSocket().get(), path) != ECONNREFUSED) {
      problem = "another tenant listens there";
    } else {
      unlink(path.c_str());
      error = publish();
    }
  }
  unlink(before.c_str());
  if (!problem.empty()) Refuse(path, problem);
  if (error != 0) Refuse(path, "can't listen there: " + Reason(error));
}

ControlListener::~ControlListener() { unlink(path_.c_str()); }

ControlLink::ControlLink(const std::string& name, fs::path socket) : target_(std::move(socket)) {
  try {
    const fs::path directory = ControlDirectory();
    socket_ = directory / target_;
    if (name.empty()) return;
    const fs::path path = directory / name;
    if (ConnectTo(NewSocket().get(), path) == 0) return;  // A living tenant's.
    unlink(path.c_str());
    if (symlink(target_.c_str(), path.c_str()) == 0) path_ = path;
  } catch (const InputError&) {
  } catch (const std::system_error&) {  // No descriptor is left for a look.
  }
}

ControlLink::~ControlLink() {
  std::error_code ignored;
  // Somebody else may have taken the name meanwhile.
  if (!path_.empty() && fs::read_symlink(path_, ignored) == target_) unlink(path_.c_str());
  if (!socket_.empty()) unlink(socket_.c_str());
}

fs::path ControlPath(std::string_view target) {
  if (target.find('/') != std::string_view::npos) return target;
  const size_t colon = target.rfind(':');
  if (colon != std::string_view::npos && colon > 0 && IsProcessNumber(target.substr(colon + 1))) {
    return ControlDirectory() / (std::string(target.substr(0, colon)) + "-" +
                                 std::string(target.substr(colon + 1)) + std::string(kSuffix));
  }
  if (!IsProcessNumber(target)) {
    Refuse(std::string(target), "no target",
           "a tenant's process number, the path of its socket, or run:job");
  }
  int process = 0;
  const auto [rest, error] = std::from_chars(target.data(), target.data() + target.size(), process);
  if (error != std::errc()) Refuse(std::string(target), "no process number");
  return ControlDirectory() / ControlName(process);
}

UniqueFd ConnectToTenant(std::string_view target) {
  const fs::path path = ControlPath(target);
  UniqueFd fd = NewSocket();
  const int error = ConnectTo(fd.get(), path);
  const std::string name(target);
  if (error == ECONNREFUSED) {
    Refuse(name, "the tenant is gone; its socket " + path.string() + " is stale; " + Tenants());
  }
  if (error == ENOENT) {
    Refuse(name, "no such tenant (no socket " + path.string() + "); " + Tenants());
  }
  if (error == EAGAIN) Refuse(name, "too many others are connecting to it", "try again");
  if (error != 0) Refuse(name, path.string() + ": " + Reason(error));
  // Root may speak to anyone, such as to the mapped users of containers.
  if (geteuid() != 0 && !PeerIsTrusted(fd.get()))
    Refuse(name, path.string() + " is another user's");
  return fd;
}

std::vector<fs::path> CleanControlDirectory() {
  std::vector<fs::path> dead;
  try {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(ControlDirectory(), ignored)) {
      if (entry.path().extension() != kSuffix) continue;
      const fs::file_status status = fs::status(entry.path(), ignored);
      const int error = fs::is_socket(status) ? ConnectTo(NewSocket().get(), entry.path()) : 0;
      const bool dangles = entry.is_symlink(ignored) && !fs::exists(status) &&
                           !MayListenYet(fs::read_symlink(entry.path(), ignored));
      if (error == ECONNREFUSED || dangles) dead.push_back(entry.path());
    }
  } catch (const InputError&) {
  }
  std::sort(dead.begin(), dead.end());
  std::erase_if(dead, [](const fs::path& path) { return unlink(path.c_str()) != 0; });
  return dead;
}

bool PeerIsTrusted(int socket) {
  const std::optional<ucred> peer = Peer(socket);
  return peer && (peer->uid == geteuid() || peer->uid == 0);
}

}  // namespace cosched
