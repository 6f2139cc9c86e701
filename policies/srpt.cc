// Shortest remaining processing time: at each arrival and each end the jobs are taken anew in the
// order of what they have left on the cores they ask for, and each gets those cores as long as they
// last; the others wait, or are paused if they have started. What is left over and too little for
// the next goes to a job whose threads follow: a malleable one, or a moldable one that starts.
// Rigid and moldable jobs are paused and resumed whole, with the cores they started with. Source:
// L. Schrage, "A proof of the optimality of the shortest remaining processing time discipline",
// Operations Research 16(3), 1968 (optimal on one core).

#include <algorithm>
#include <vector>

#include "policies/job_size.h"
#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class Srpt final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    std::vector<Candidate> jobs;
    jobs.reserve(view.jobs.size());
    for (const JobView& job : view.jobs)
      jobs.push_back({SecondsLeft(view, job, CoresAsked(view, job)), &job});
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
    Allocation allocation;
    int free = view.cores.Count();
    for (const Candidate& next : jobs) {
      const int cores = Share(view, *next.job, free);
      free -= cores;
      GiveCores(*next.job, cores, &allocation);
    }
    return allocation;
  }

 private:
  struct Candidate {
    double seconds;
    const JobView* job;
  };

  static int Share(const MachineView& view, const JobView& job, int free) {
    const bool fixed = job.started && job.elasticity != Elasticity::kMalleable;
    const int whole = !fixed           ? CoresAsked(view, job)
                      : job.IsActive() ? job.cores.Count()
                                       : job.last_cores.Count();
    if (whole <= free) return whole;
    const bool divisible = !fixed && job.elasticity != Elasticity::kRigid;
    return divisible && job.request.min <= free ? free : 0;
  }
};

}  // namespace

PolicyInfo SrptPolicy() {
  return {.name = "srpt",
          .summary = "runs the jobs that have least left, pauses the others",
          .source = "Schrage, Operations Research 16(3), 1968 (shortest remaining processing time)",
          .needs_speed = true,
          .on_settled = false,
          .needs_size = true,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<Srpt>();
          }};
}

}  // namespace cosched
