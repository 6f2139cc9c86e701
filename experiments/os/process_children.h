#pragma once
// The children of a process, and theirs. Called by hosts that look for what their tenants have
// started, by tenants that run programs of others, and by `cosched doctor -- CMD`. Stateless.

#include <sys/types.h>

#include <vector>

namespace cosched {

// Ascending; ended ones, too, until they are reaped. Where the kernel lists no children, by a look at
// every process of the machine.
std::vector<pid_t> ChildrenOf(pid_t process);
bool KernelListsChildren();

// These and theirs, down to the last: ascending, without the process itself.
std::vector<pid_t> DescendantsOf(pid_t process);

// To each of these once, also to those that they start meanwhile; of a process that starts others all
// the while, to as many as there were at ten looks.
void SignalDescendantsOf(pid_t process, int signal);

// Kills all that descends from this process, and reaps it. What has become another user's is left to
// that one. REQUIRES: this process takes in orphans, and has no child that it wants to keep.
void KillDescendants();

}  // namespace cosched
