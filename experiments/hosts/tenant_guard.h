#pragma once
// Sees to it that nothing of a host outlives it, however it ends: a child process in a session of
// its own that waits for the end of the process which made it. If that one has not said good-bye,
// it kills every tenant that it was told of, whatever its state (stopped, starting, in a
// container), what those have forked, and what is in the owner's cgroups, and removes these and
// dead control sockets. ps shows it as "tenant-guard of <pid>". Made by a launcher before it starts
// a thread or a tenant. Not thread-safe.
//
// Besides, the kernel ends a child process with its parent (PR_SET_PDEATHSIG); but not a
// grandchild, nor a container, whose parent is the runtime's monitor, and the execution of a file
// with capabilities clears it.

#include <functional>

#include "engine/base/unique_fd.h"

namespace cosched {

class TenantGuard {
 public:
  // `clean_up` is called in the guard's process, after all that it was told of is dead. Throws
  // std::system_error if a process can't be made.
  explicit TenantGuard(const std::function<void()>& clean_up = nullptr);
  // Good-bye: the owner lives on, and there is nothing left to kill.
  ~TenantGuard();
  TenantGuard(const TenantGuard&) = delete;
  TenantGuard& operator=(const TenantGuard&) = delete;

  // The process of this pidfd dies with the owner. Tell before it runs anything.
  void Watch(int pidfd);
  // The process of this pidfd outlives the owner, because what it does can't be undone by halves:
  // the rest waits for its end, 20 s at most.
  void Await(int pidfd);

 private:
  void Reap();  // If it has ended.

  UniqueFd socket_, process_;
};

}  // namespace cosched
