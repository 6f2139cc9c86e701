// Greedy on the speed curves: at each arrival and each end all cores are divided anew; everybody
// has its min, and each further core goes to the job whose speed it raises most, measured in the
// job's own speed on one core. That maximises the sum of speedups where curves are concave. A core
// that would slow every job down stays idle. Who takes part: the running jobs, then the queue as
// long as each fits with its min; nobody overtakes. The threads of rigid jobs, and of moldable ones
// after their start, do not follow: they get no more cores than threads, and fewer oversubscribe
// them. Source: B. Fox, "Discrete optimization via marginal analysis", Management Science 13(3),
// 1966.

#include <algorithm>
#include <vector>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class MarginalSpeedup final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    int left = 0;
    const std::vector<const JobView*> jobs = RunningAndNext(view, &left);
    const std::vector<int> grants = Divide(jobs, left);
    Allocation allocation;
    for (size_t i = 0; i < jobs.size(); ++i) GiveCores(*jobs[i], grants[i], &allocation);
    return allocation;
  }

 private:
  struct Next {
    double gain;  // The gain of one core more.
    size_t job;
  };
  static bool IsWorse(const Next& a, const Next& b) {
    return a.gain != b.gain ? a.gain < b.gain : a.job > b.job;  // Among equals the oldest.
  }

  static double Gain(const SpeedCurve& speed, int cores) {
    return (speed.At(cores + 1) - speed.At(cores)) / speed.At(1);
  }

  static std::vector<int> Divide(const std::vector<const JobView*>& jobs, int left) {
    std::vector<int> grants, most;
    std::vector<Next> heap;
    grants.reserve(jobs.size());
    most.reserve(jobs.size());
    heap.reserve(jobs.size());
    const auto may_grow = [&](size_t i) { return grants[i] < most[i]; };
    for (size_t i = 0; i < jobs.size(); ++i) {
      grants.push_back(jobs[i]->request.min);
      most.push_back(UsefulCores(*jobs[i]));
      if (may_grow(i)) heap.push_back({Gain(*jobs[i]->speed, grants[i]), i});
    }
    std::make_heap(heap.begin(), heap.end(), IsWorse);
    for (; left > 0 && !heap.empty() && heap.front().gain > 0; --left) {
      std::pop_heap(heap.begin(), heap.end(), IsWorse);
      const size_t best = heap.back().job;
      heap.pop_back();
      ++grants[best];
      if (!may_grow(best)) continue;
      heap.push_back({Gain(*jobs[best]->speed, grants[best]), best});
      std::push_heap(heap.begin(), heap.end(), IsWorse);
    }
    return grants;
  }
};

}  // namespace

PolicyInfo MarginalSpeedupPolicy() {
  return {.name = "marginal-speedup",
          .summary = "gives each core to the job that it speeds up most",
          .source = "Fox, Management Science 13(3), 1966 (marginal analysis)",
          .needs_speed = true,
          .on_settled = false,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<MarginalSpeedup>();
          }};
}

}  // namespace cosched
