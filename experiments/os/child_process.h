#pragma once
// A function run in a forked child, for what must not share memory or threads with anything else:
// cells of a benchmark whose peak memory is recorded. Called by the commands.

#include <string>

#include "engine/pool/function_ref.h"

namespace cosched {

struct ChildOutcome {
  int exit_code = 0;  // As main's: 2 for an InputError, which the child has told; -1: a signal.
  std::string text;   // What the function returned; empty unless it succeeded.
};

// Waits for the child. REQUIRES: the calling process has no other threads.
ChildOutcome RunInChild(FunctionRef<std::string()> function);

// The calling process's memory: the most that was resident at any time (VmHWM).
long long PeakMemoryBytes();

}  // namespace cosched
