#include "experiments/os/thread_affinity.h"

#include <cerrno>
#include <functional>
#include <vector>

#include "experiments/os/process_sampler.h"

namespace cosched {
// A new thread inherits its creator's mask, so a pass that finds everyone in place is final: nobody
// was left who could have started a thread elsewhere.
Confinement ConfineThreads(pid_t process, const CpuSet& cores, const Topology& topology,
                           const std::function<bool(pid_t)>& is_placed, pid_t except) {
  constexpr int kPasses = 20;
  for (int pass = 0; pass < kPasses; ++pass) {
    const std::vector<pid_t> threads = ThreadsOf(process);
    if (threads.empty()) return Confinement::kGone;
    bool moved = false;
    for (const pid_t tid : threads) {
      if (tid == except) continue;
      const CpuSet binding = topology.ThreadBinding(tid);
      if (binding == cores) continue;
      if (is_placed && !binding.Empty() && cores.Contains(binding) && is_placed(tid)) continue;
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
