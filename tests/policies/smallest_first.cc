// Starts the smallest request first, so that many small jobs do not queue behind a large one. A
// large job may wait for long: that is the price to measure.

#include <algorithm>

#include "policies/registry.h"

namespace cosched {
namespace {

class SmallestFirst final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event&) override {
    std::vector<const JobView*> waiting;
    for (const JobView& job : view.jobs.Waiting()) waiting.push_back(&job);
    std::stable_sort(waiting.begin(), waiting.end(), [](const JobView* a, const JobView* b) {
      return a->request.preferred < b->request.preferred;
    });
    Allocation allocation;
    int free = view.FreeCores().Count();
    for (const JobView* job : waiting) {
      const int cores = std::min(job->request.preferred, view.cores.Count());
      if (cores > free) break;
      allocation.jobs[job->id] = Run{.cores = cores, .split = {}};
      free -= cores;
    }
    return allocation;
  }
};

}  // namespace

PolicyInfo SmallestFirstPolicy() {
  return {.name = "smallest-first",
          .summary = "starts the job that asks for the fewest cores first",
          .source = "",
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<SmallestFirst>();
          }};
}

}  // namespace cosched
