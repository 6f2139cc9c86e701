#pragma once
// Starts another program, or runs it and waits for it: the plot scripts, the benchmarks of a figure,
// and what `cosched doctor -- CMD` looks at.

#include <sys/types.h>

#include <string>
#include <vector>

namespace cosched {

struct StartedProgram {
  pid_t pid = -1;  // A child, which the caller reaps; -1: it can't be started.
  int error = 0;   // Why.
};
// A program found in PATH, with its arguments. quiet: what it prints is thrown away.
StartedProgram StartProgram(std::vector<std::string> arguments, bool quiet = false);

// The same, waited for. Returns its exit code, or -1 if it can't be run or
// died by a signal.
int RunProgram(std::vector<std::string> arguments, bool quiet = false);

}  // namespace cosched
