#include "experiments/hosts/tenant_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "experiments/hosts/process_tree.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/os/pinned_child.h"
#include "experiments/os/process_stat.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/packet_socket.h"

namespace cosched {
namespace {

using Steady = std::chrono::steady_clock;

// As ps shows it; 15 characters at most. Not like its owner: who kills that by name, perhaps with
// pkill, would kill its guard too.
constexpr const char* kName = "tenant-guard";
constexpr const char* kReady = "ready";
constexpr const char* kWatch = "watch";
constexpr const char* kAwait = "await";
constexpr const char* kGoodBye = "good-bye";
constexpr int kTenantDeathMilliseconds = 10'000, kAwaitMilliseconds = 20'000,
              kGuardMilliseconds = 10'000;
constexpr int kSocket = 3, kOwner = 4;  // The guard's only descriptors besides 0, 1 and 2.

// For a process, that it has ended; for a socket, that there is a packet or no peer.
bool TellsWithin(int fd, int milliseconds) {
  pollfd descriptor{fd, POLLIN, 0};
  int ready;
  do {
    ready = poll(&descriptor, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

enum class OwnersEnd { kGoodBye, kDeath };

struct Watched {
  std::vector<UniqueFd> killed, awaited;
};

void Add(UniqueFd pidfd, std::vector<UniqueFd>* to) {
  // Processes that have ended need not be held any longer.
  std::erase_if(*to, [](const UniqueFd& fd) { return TellsWithin(fd.get(), 0); });
  if (pidfd) to->push_back(std::move(pidfd));
}

// Takes what has arrived. True while there may be more to come.
bool TakeWatched(Watched* watched, OwnersEnd* end) {
  std::string text;
  while (true) {
    UniqueFd pidfd;
    switch (ReceivePacket(kSocket, &text, &pidfd)) {
      case Receipt::kNothing: return true;
      case Receipt::kTooLong: continue;
      case Receipt::kClosed: return false;
      case Receipt::kPacket: break;
    }
    if (text == kGoodBye) {
      *end = OwnersEnd::kGoodBye;
      return false;
    }
    Add(std::move(pidfd), text == kAwait ? &watched->awaited : &watched->killed);
  }
}

OwnersEnd AwaitEnd(Watched* watched) {
  OwnersEnd end = OwnersEnd::kDeath;
  while (true) {
    pollfd descriptors[] = {{kSocket, POLLIN, 0}, {kOwner, POLLIN, 0}};
    if (poll(descriptors, 2, -1) < 0) continue;
    const bool died = descriptors[1].revents != 0;  // Before what it said last is taken.
    if (!TakeWatched(watched, &end) || died) return end;
  }
}

// All together within the limit.
void AwaitEnds(const std::vector<UniqueFd>& processes, int milliseconds) {
  const auto deadline = Steady::now() + std::chrono::milliseconds(milliseconds);
  for (const UniqueFd& pidfd : processes) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
    TellsWithin(pidfd.get(), static_cast<int>(std::max<int64_t>(left.count(), 0)));
  }
}

void Kill(const std::vector<UniqueFd>& processes) {
  for (const UniqueFd& pidfd : processes) {
    syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
  }
  AwaitEnds(processes, kTenantDeathMilliseconds);
}

// Instead of the command line that it has from its owner; for pkill -f. proc(5) tells where that
// is.
void SetCommandLine(const std::string& text) {
  const std::optional<ProcessStat> stat = ProcessStat::Of("self");
  if (!stat) return;
  const auto start = static_cast<uintptr_t>(stat->Number(ProcessStat::kArgumentsBegin));
  const auto end = static_cast<uintptr_t>(stat->Number(ProcessStat::kArgumentsEnd));
  if (start == 0 || end <= start) return;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number.
  char* const place = reinterpret_cast<char*>(start);
  const size_t room = end - start - 1;  // Ends with a zero.
  std::memset(place, 0, room + 1);
  // NOLINTNEXTLINE(bugprone-not-null-terminated-result): what follows is zero.
  std::memcpy(place, text.data(), std::min(room, text.size()));
}

// Keeps nothing of its owner's but the two descriptors: not its terminal, folder, pipes or locks.
void Detach(int socket, int owner, pid_t owners_pid) {
  prctl(PR_SET_NAME, kName);
  SetCommandLine(std::string(kName) + " of " + std::to_string(owners_pid));
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) signal(number, SIG_IGN);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the guard has one thread.
  signal(SIGCHLD, SIG_DFL);  // The guard waits for what cleans up.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): as above.
  if (chdir("/") != 0) _exit(1);
  // Above both targets first, or one might be closed by the other.
  const int socket_copy = fcntl(socket, F_DUPFD, kOwner + 1);
  const int owner_copy = fcntl(owner, F_DUPFD, kOwner + 1);
  if (dup2(socket_copy, kSocket) < 0 || dup2(owner_copy, kOwner) < 0) _exit(1);
  const int null = open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) dup2(null, standard);
  syscall(SYS_close_range, static_cast<unsigned>(kOwner + 1), UINT_MAX, 0u);
  for (const int fd : {kSocket, kOwner}) fcntl(fd, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void Guard(const std::string& owner, const std::function<void()>& clean_up) {
  Watched watched;
  if (AwaitEnd(&watched) == OwnersEnd::kGoodBye) _exit(0);
  try {
    Kill(watched.killed);
    AwaitEnds(watched.awaited, kAwaitMilliseconds);
    KillMarkedBy(owner);
    Cgroup::RemoveOf(owner);
    if (clean_up) clean_up();
    CleanControlDirectory();
  } catch (const std::exception&) {
    _exit(1);  // Nobody is left to be told.
  }
  _exit(0);
}

}  // namespace

TenantGuard::TenantGuard(const std::function<void()>& clean_up) {
  const auto fail = [](const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
  };
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) fail("socketpair");
  socket_ = UniqueFd(ends[0]);
  UniqueFd theirs(ends[1]);
  const std::string owner = OwnerName();
  const UniqueFd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!self) fail("pidfd_open");
  // A child of this process, which reaps it: to make it nobody's, adoption would have to stop for a
  // moment, in which an orphan of another host's tenant would be lost. A session of its own keeps it
  // from signals to this one's group.
  const pid_t owners_pid = getpid(), guard = fork();
  if (guard < 0) fail("starting the guard of the tenants");
  if (guard == 0) {
    setsid();
    Detach(theirs.get(), self.get(), owners_pid);
    SendPacket(kSocket, kReady);
    Guard(owner, clean_up);
  }
  process_ = PinChild(guard);
  // Before that it looks like its owner to whoever searches for processes by name.
  theirs.Reset();
  std::string ready;
  if (TellsWithin(socket_.get(), kGuardMilliseconds)) ReceivePacket(socket_.get(), &ready);
}

TenantGuard::~TenantGuard() {
  SendPacket(socket_.get(), kGoodBye);
  // One that somebody has stopped is left to whoever takes in orphans.
  if (TellsWithin(process_.get(), kGuardMilliseconds)) Reap();
}

void TenantGuard::Watch(int pidfd) {
  // A guard that does not answer has been killed: then the kernel's own way remains.
  if (!SendPacket(socket_.get(), kWatch, pidfd)) Reap();
}

void TenantGuard::Await(int pidfd) { SendPacket(socket_.get(), kAwait, pidfd); }

void TenantGuard::Reap() {
  siginfo_t ignored{};
  waitid(P_PIDFD, static_cast<id_t>(process_.get()), &ignored, WEXITED | WNOHANG);
}

}  // namespace cosched
