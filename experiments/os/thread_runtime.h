#pragma once
// The runtimes that make a program's threads, known by the libraries that it has loaded: from what each
// takes its number of threads, and how it is told another. Called by `cosched doctor -- CMD` and by
// tenants that run programs of others.
// Stateless, so thread-safe.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cosched {

struct ThreadRuntime {
  enum class Default {
    kAffinity,  // As many as CPUs in its mask when it starts.
    kMachine,   // As many as the machine has cores, whatever of it this process may use.
    kQuota,     // Mask and quota, the latter rounded up.
    kOne,       // One.
  };
  std::string_view library;  // Part of its file's name.
  std::string_view name;
  std::vector<std::string_view> variables;  // Each sets the number; the first that is set decides.
  std::string_view call;                    // What sets it in the program, for people.
  Default without = Default::kAffinity;     // What it takes where nothing is set.
};

// Those whose library is mapped, from the text of /proc/PID/maps; each once, in a fixed order.
std::vector<const ThreadRuntime*> RuntimesOf(std::string_view maps);

// Variables of an environment, from the bytes of /proc/PID/environ.
std::map<std::string, std::string> ParseEnvironment(std::string_view bytes);

// The variables by which any of them is told a number, each once.
std::vector<std::string_view> ThreadVariables();

struct ThreadBelief {
  int threads = 0;
  std::string from;  // "OMP_NUM_THREADS=8", or "its cpuset at the start".
};
// How many threads the runtime would start in a process of this environment that may use so many of
// the machine's CPUs and has CPU time for `quota` threads (as many where there is no quota).
ThreadBelief BeliefOf(const ThreadRuntime& runtime,
                      const std::map<std::string, std::string>& environment, int allowed, int quota,
                      int machine);

}  // namespace cosched
