// Nobody controls: every job starts when it arrives, with the threads it asks for, however many
// others run. The baseline that the published "no control" runs measure. Rigid and moldable jobs
// may run anywhere, the kernel schedules them, as containers without a limit; malleable ones are
// put on as many cores as they ask for, the least loaded first. Source: Libutti, thesis 2023, the
// logs and tables of its container scheduler.

#include <algorithm>
#include <map>

#include "policies/placement.h"
#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class NoControl final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event&) override {
    std::map<int, int> load;  // Jobs that hold the CPU.
    for (int cpu : view.cores) load[cpu] = 0;
    for (const JobView& job : view.jobs.Running()) AddLoad(job.cores, &load);
    Allocation allocation;
    for (const JobView& job : view.jobs.Waiting()) {
      const bool pinned = job.elasticity == Elasticity::kMalleable;
      const CpuSet cores =
          pinned ? LeastLoaded(*view.topology, load, CoresAsked(view, job)) : view.cores;
      const int threads = pinned ? cores.Count() : job.request.preferred;
      allocation.jobs[job.id] = Run{.cores = cores, .split = job.SplitOn(threads)};
      AddLoad(cores, &load);
    }
    return allocation;
  }

 private:
  static void AddLoad(const CpuSet& cores, std::map<int, int>* load) {
    for (int cpu : cores) ++(*load)[cpu];
  }

  static CpuSet LeastLoaded(const Topology& topology, const std::map<int, int>& load, int count) {
    std::map<int, CpuSet> levels;
    for (const auto& [cpu, jobs] : load) levels[jobs].Add(cpu);
    CpuSet chosen;
    for (const auto& [jobs, cpus] : levels) {
      const int reachable = chosen.Count() + cpus.Count();
      chosen = PlaceCores(topology, chosen, cpus, std::min(count, reachable));
    }
    return chosen;
  }
};

}  // namespace

PolicyInfo NoControlPolicy() {
  return {.name = "no-control",
          .summary = "starts every job at once with what it asks for; oversubscribes",
          .source = "Libutti, thesis 2023 (no control)",
          .oversubscribes = true,
          .on_settled = false,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<NoControl>();
          }};
}

}  // namespace cosched
