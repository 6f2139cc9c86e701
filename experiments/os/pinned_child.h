#pragma once
// A hold on a child that was just started, which no other process can take over, as its number
// could be. Called by what starts tenants and programs; thread-safe.

#include <sys/types.h>

#include "engine/base/unique_fd.h"

namespace cosched {

// Its pidfd. Throws std::system_error if there can be none; the child is then killed and waited
// for. REQUIRES: a child of this process that nobody has waited for.
UniqueFd PinChild(pid_t child);

}  // namespace cosched
