#pragma once
// Runs another program and waits for it: the plot scripts, and the benchmarks of a figure.

#include <string>
#include <vector>

namespace cosched {

// A program found in PATH, with its arguments. Returns its exit code, or -1 if it can't be run or
// died by a signal. quiet: what it prints is thrown away.
int RunProgram(std::vector<std::string> arguments, bool quiet = false);

}  // namespace cosched
