// Shortest job first, without preemption: of the jobs that wait, the one that would end soonest on
// the cores it asks for starts first, with all of them; a longer one behind it that fits may start,
// as under strict, so the two differ in the order only. All elasticity classes alike: nobody is
// resized or paused. Source: W. E. Smith, "Various optimizers for single-stage production", Naval
// Research Logistics Quarterly 3, 1956.

#include <algorithm>
#include <vector>

#include "policies/job_size.h"
#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class Sjf final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    Handout handout(view);
    if (handout.free() == 0) return {};
    // A heap: only as many are put in order as are looked at.
    std::vector<Candidate> queue;
    int64_t place = 0;
    for (const JobView& job : view.jobs.Waiting()) {
      const int cores = CoresAsked(view, job);
      if (cores <= handout.free())
        queue.push_back({SecondsLeft(view, job, cores), place, cores, &job});
      ++place;
    }
    std::make_heap(queue.begin(), queue.end(), IsLonger);
    while (!queue.empty() && handout.free() > 0) {
      std::pop_heap(queue.begin(), queue.end(), IsLonger);
      const Candidate& next = queue.back();
      if (next.cores <= handout.free()) handout.Start(*next.job, next.cores);
      queue.pop_back();
    }
    return handout.Take();
  }

 private:
  struct Candidate {
    double seconds;
    int64_t place;  // In the queue: among equals the first.
    int cores;
    const JobView* job;
  };
  static bool IsLonger(const Candidate& a, const Candidate& b) {
    return a.seconds != b.seconds ? a.seconds > b.seconds : a.place > b.place;
  }
};

}  // namespace

PolicyInfo SjfPolicy() {
  return {.name = "sjf",
          .summary =
              "starts the job that would end soonest first, with all the cores it asks for; "
              "jobs that fit overtake shorter ones that do not",
          .source = "Smith, Naval Research Logistics Quarterly 3, 1956 (shortest job first)",
          .needs_speed = true,
          .on_settled = false,
          .needs_size = true,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<Sjf>();
          }};
}

}  // namespace cosched
