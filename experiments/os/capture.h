#pragma once
// Runs another program to its end, without a shell, and takes what it writes: podman, Slurm's
// clients, tests. Thread-safe.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace cosched {

// What command[0], found in PATH, wrote to stdout, or nullopt if it failed or took longer than the
// limit, after which it is killed. `said`, if given, gets what it wrote to stderr, or why it did not
// run to its end. A signal to the caller, also one from the terminal, does not reach it: what it has
// begun with a service (a container, a job) is known when it ends.
std::optional<std::string> Capture(const std::vector<std::string>& command,
                                   std::string* said = nullptr,
                                   std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace cosched
