#pragma once
// The children of a process. Called by hosts that look for what their tenants have started. Stateless.

#include <sys/types.h>

#include <vector>

namespace cosched {

// Ascending; ended ones, too, until they are reaped. Where the kernel lists no children, by a look at
// every process of the machine.
std::vector<pid_t> ChildrenOf(pid_t process);
bool KernelListsChildren();

}  // namespace cosched
