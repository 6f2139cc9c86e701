#include "experiments/hosts/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/os/owner.h"
#include "experiments/os/proc_file.h"
#include "experiments/os/process_children.h"
#include "experiments/os/process_sampler.h"
#include "experiments/os/process_stat.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

constexpr const char* kVariable = "COSCHED_TENANT=";
// A tree that forks all the while is killed faster than it can grow.
constexpr std::chrono::seconds kTreeDeathTimeout{10};

// The mark of a tenant of an owner begins like this, and is the whole mark of one tenant if that
// ends with its zero.
std::string MarkOf(const std::string& owner) { return std::string(kVariable) + owner + "-"; }

enum class Bears { kMark, kNoMark, kUnknown, kEnding };

Bears Look(const std::string& environment, const std::string& beginning) {
  const bool has =
      environment.starts_with(beginning) || environment.find('\0' + beginning) != std::string::npos;
  return has ? Bears::kMark : Bears::kNoMark;
}

// A process whose first thread has ended, and others go on: it shows no environment, and they do.
Bears LookAtOtherThreads(pid_t process, const std::string& beginning) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task/";
  for (const pid_t thread : ThreadsOf(process)) {
    const std::string text = ProcFile::Read(tasks + std::to_string(thread) + "/environ").text;
    if (!text.empty()) return Look(text, beginning);
  }
  return Bears::kEnding;
}

// A process that shows no environment. It has none while it goes from one program to the next, and
// bears the mark again afterwards; nor while it ends, when its children are still its own. One that has
// ended has left them to another, and one of the kernel's never had an environment.
Bears LookWithoutEnvironment(pid_t process, const std::string& beginning, bool forbidden) {
  constexpr int64_t kOfTheKernel = 0x00200000, kExiting = 0x4;  // PF_KTHREAD, PF_EXITING.
  const std::optional<ProcessStat> stat = ProcessStat::Of(process);
  if (!stat || stat->HasEnded()) return Bears::kNoMark;
  const int64_t flags = stat->Number(ProcessStat::kFlags);
  if ((flags & kOfTheKernel) != 0) return Bears::kNoMark;
  if (stat->Number(ProcessStat::kThreads) > 1 && (flags & kExiting) != 0)
    return LookAtOtherThreads(process, beginning);
  if ((flags & kExiting) != 0) return Bears::kEnding;
  const int64_t end = stat->Number(ProcessStat::kEnvironmentEnd);
  const bool has_wiped_it = end != 0 && end == stat->Number(ProcessStat::kEnvironmentBegin);
  return has_wiped_it || forbidden ? Bears::kNoMark : Bears::kUnknown;
}

// Among its variables. Processes that end between two looks at them are not there. What newer kernels
// refuse to open of a dying one (ESRCH), older ones refuse all but root (EACCES), as if it were
// somebody else's.
Bears LookForMark(pid_t process, const std::string& beginning) {
  const ProcFile file = ProcFile::Read("/proc/" + std::to_string(process) + "/environ");
  if (!file.text.empty()) return Look(file.text, beginning);
  if (file.error == ENOENT) return Bears::kNoMark;
  return LookWithoutEnvironment(process, beginning, file.error == EACCES);
}

UniqueFd Pin(pid_t process) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

// What a search among some processes has found.
struct Search {
  std::vector<UniqueFd> found;
  bool complete = true;  // Nothing was there of which it can't be told, or that may leave more.
};

void TakeIfMarked(pid_t process, const std::string& beginning, Search* search) {
  Bears bears = LookForMark(process, beginning);
  UniqueFd pidfd = bears == Bears::kMark ? Pin(process) : UniqueFd();
  // Looked at again: its number may have been given to another before it was pinned.
  if (pidfd) bears = LookForMark(process, beginning);
  if (pidfd && bears == Bears::kMark) search->found.push_back(std::move(pidfd));
  search->complete = search->complete && bears != Bears::kUnknown;
}

Search FindMarked(const std::string& beginning) {
  Search search;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (directory == nullptr) return search;
  while (const dirent* entry = readdir(directory.get())) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0) TakeIfMarked(process, beginning, &search);
  }
  return search;
}

// The whole of a marked child's tree bears the mark, or has taken it off: it is found in either case.
void TakeTree(pid_t process, std::vector<UniqueFd>* found) {
  const std::vector<pid_t> children = ChildrenOf(process);
  if (UniqueFd pidfd = Pin(process)) found->push_back(std::move(pidfd));
  for (const pid_t child : children) TakeTree(child, found);
}

Search FindAdopted(const std::string& beginning, const ChildKeeper& keeper) {
  Search search;
  const std::vector<pid_t> children = ChildrenOf(getpid());
  for (const pid_t child : children) {
    if (keeper.Knows(child)) continue;
    const Bears bears = LookForMark(child, beginning);
    if (bears == Bears::kMark) TakeTree(child, &search.found);
    search.complete = search.complete && bears != Bears::kUnknown && bears != Bears::kEnding;
  }
  // One that has ended meanwhile has left its own children to this process.
  search.complete = search.complete && std::ranges::includes(children, ChildrenOf(getpid()));
  return search;
}

// find(): those that are still there, pinned. keeper: of those that this process adopts, or null.
bool KillAll(const std::function<Search()>& find, ChildKeeper* keeper) {
  const auto deadline = MonotonicNow() + kTreeDeathTimeout;
  while (true) {
    Search search = find();
    if (search.found.empty() && search.complete) return true;
    if (MonotonicNow() >= deadline) return false;
    // A process that gets an environment, or hands over its children, tells nobody.
    if (search.found.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (const UniqueFd& pidfd : search.found) {
      syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
    }
    for (UniqueFd& pidfd : search.found) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicNow());
      pollfd gone{pidfd.get(), POLLIN, 0};
      poll(&gone, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
      if (keeper != nullptr) keeper->Reap(std::move(pidfd));
    }
  }
}

// Whether it is a process that has ended, of that group or session.
bool HasEndedIn(pid_t process, pid_t group_or_session) {
  const std::optional<ProcessStat> stat = ProcessStat::Of(process);
  return stat && stat->HasEnded() &&
         (stat->Number(ProcessStat::kGroup) == group_or_session ||
          stat->Number(ProcessStat::kSession) == group_or_session);
}

// Adopted ones that have ended by themselves: they have no environment any more.
void ReapEnded(pid_t tenant, ChildKeeper* keeper) {
  for (const pid_t child : ChildrenOf(getpid())) {
    if (keeper->Knows(child) || !HasEndedIn(child, tenant)) continue;
    UniqueFd pidfd = Pin(child);
    // Somebody may have reaped it just now, and its number be another's.
    pollfd ended{pidfd.get(), POLLIN, 0};
    if (pidfd && poll(&ended, 1, 0) == 1) keeper->Reap(std::move(pidfd));
  }
}

}  // namespace

std::string NewTenantMark() { return MarkOf(OwnerName()) + std::to_string(MonotonicNow().count()); }

void AdoptOrphans() {
  if (KernelListsChildren()) prctl(PR_SET_CHILD_SUBREAPER, 1);
}

bool AdoptsOrphans() {
  int adopts = 0;
  return prctl(PR_GET_CHILD_SUBREAPER, &adopts) == 0 && adopts != 0;
}

bool KillLeftBehind(pid_t tenant, const std::string& mark, ChildKeeper* keeper) {
  const std::string whole = mark + std::string(1, '\0');
  if (!AdoptsOrphans()) return KillAll([&] { return FindMarked(whole); }, nullptr);
  const bool gone = KillAll([&] { return FindAdopted(whole, *keeper); }, keeper);
  ReapEnded(tenant, keeper);
  return gone;
}

bool KillMarkedBy(const std::string& owner) {
  return KillAll([&] { return FindMarked(MarkOf(owner)); }, nullptr);
}

}  // namespace cosched
