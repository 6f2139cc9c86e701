#include "experiments/hosts/process_tree.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "experiments/os/owner.h"
#include "experiments/os/process_children.h"
#include "experiments/wire/shared_counters.h"

namespace cosched {
namespace {

constexpr const char* kVariable = "COSCHED_TENANT=";
// A tree that forks all the while is killed faster than it can grow.
constexpr std::chrono::seconds kTreeDeathTimeout{10};

// The mark of a tenant of an owner begins like this, and is the whole mark of one tenant if that
// ends with its zero.
std::string MarkOf(const std::string& owner) { return std::string(kVariable) + owner + "-"; }

// Among its variables. Processes that end between two looks at them are not there; a zombie has no
// environment.
bool HasMark(pid_t process, const std::string& beginning) {
  std::ifstream file("/proc/" + std::to_string(process) + "/environ", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.starts_with(beginning) || text.find('\0' + beginning) != std::string::npos;
}

UniqueFd Pin(pid_t process) {
  return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

// Looked at again: its number may have been given to another before it was pinned.
void TakeIfMarked(pid_t process, const std::string& beginning, std::vector<UniqueFd>* found) {
  if (!HasMark(process, beginning)) return;
  UniqueFd pidfd = Pin(process);
  if (pidfd && HasMark(process, beginning)) found->push_back(std::move(pidfd));
}

std::vector<UniqueFd> FindMarked(const std::string& beginning) {
  std::vector<UniqueFd> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  if (directory == nullptr) return found;
  while (const dirent* entry = readdir(directory.get())) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0) TakeIfMarked(process, beginning, &found);
  }
  return found;
}

// The whole of a marked child's tree bears the mark, or has taken it off: it is found in either case.
void TakeTree(pid_t process, std::vector<UniqueFd>* found) {
  const std::vector<pid_t> children = ChildrenOf(process);
  if (UniqueFd pidfd = Pin(process)) found->push_back(std::move(pidfd));
  for (const pid_t child : children) TakeTree(child, found);
}

std::vector<UniqueFd> FindAdopted(const std::string& beginning, const ChildKeeper& keeper) {
  std::vector<UniqueFd> found;
  for (const pid_t child : ChildrenOf(getpid())) {
    if (!keeper.Knows(child) && HasMark(child, beginning)) TakeTree(child, &found);
  }
  return found;
}

// find(): those that are still there, pinned. keeper: of those that this process adopts, or null.
bool KillAll(const std::function<std::vector<UniqueFd>()>& find, ChildKeeper* keeper) {
  const auto deadline = MonotonicNow() + kTreeDeathTimeout;
  while (true) {
    std::vector<UniqueFd> found = find();
    if (found.empty()) return true;
    if (MonotonicNow() >= deadline) return false;
    for (const UniqueFd& pidfd : found) {
      syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);
    }
    for (UniqueFd& pidfd : found) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - MonotonicNow());
      pollfd gone{pidfd.get(), POLLIN, 0};
      poll(&gone, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
      if (keeper != nullptr) keeper->Reap(std::move(pidfd));
    }
  }
}

// Whether it is a process that has ended, of that group or session.
bool HasEndedIn(pid_t process, pid_t group_or_session) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  char state = '?';
  pid_t parent = 0, group = 0, session = 0;
  fields >> state >> parent >> group >> session;
  return state == 'Z' && (group == group_or_session || session == group_or_session);
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

NoAdoptionScope::NoAdoptionScope() : adopted_(AdoptsOrphans()) {
  if (adopted_) prctl(PR_SET_CHILD_SUBREAPER, 0);
}

NoAdoptionScope::~NoAdoptionScope() {
  if (adopted_) prctl(PR_SET_CHILD_SUBREAPER, 1);
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
