#pragma once
// The children of a process, and theirs. Called by hosts that look for what their tenants have
// started, and by `cosched doctor -- CMD`. Stateless.

#include <sys/types.h>

#include <vector>

namespace cosched {

// Ascending; ended ones, too, until they are reaped. Where the kernel lists no children, by a look at
// every process of the machine.
std::vector<pid_t> ChildrenOf(pid_t process);
bool KernelListsChildren();

// These and theirs, down to the last: ascending, without the process itself.
std::vector<pid_t> DescendantsOf(pid_t process);

}  // namespace cosched
