#include "experiments/os/thread_affinity.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "experiments/os/process_sampler.h"

namespace cosched {
namespace {

bool IsComputeThread(pid_t process, pid_t tid) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(tid) + "/comm");
  std::string name;
  return std::getline(file, name) && IsComputeThreadName(name);
}

}  // namespace

// A new thread inherits its creator's mask, so a pass that finds everyone in place is final: nobody
// was left who could have started a thread elsewhere.
Confinement ConfineThreads(pid_t process, const CpuSet& cores, Which which,
                           const Topology& topology, pid_t except) {
  constexpr int kPasses = 20;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<pid_t> threads = ThreadsOf(process);
    if (threads.empty()) return Confinement::kGone;
    bool moved = false;
    for (const pid_t tid : threads) {
      if (tid == except) continue;
      const CpuSet binding = topology.ThreadBinding(tid);
      if (binding == cores) continue;
      if (which == Which::kExceptPlaced && cores.Contains(binding) &&
          IsComputeThread(process, tid)) {
        continue;
      }
      if (topology.BindThread(tid, cores)) {
        moved = true;
      } else if (errno != ESRCH) {
        return Confinement::kRefused;
      }
    }
    if (!moved) return Confinement::kDone;
  }
  return Confinement::kUnstable;
}

}  // namespace cosched
