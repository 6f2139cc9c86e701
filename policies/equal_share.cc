// Dynamic equipartition: at each arrival and each end the cores are divided anew, equally among as
// many jobs as fit with their min, within each job's min and max; a remainder goes to the oldest.
// Running jobs shrink so that newcomers can start. Source: McCann, Vaswani, Zahorjan, "A Dynamic
// Processor Allocation Policy for Multiprogrammed Shared-Memory Multiprocessors", ACM TOCS 11(2),
// 1993.

#include <algorithm>

#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class EqualShare final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    std::vector<const JobView*> jobs;
    for (const JobView& job : view.jobs.Running()) jobs.push_back(&job);
    int left = view.cores.Count();
    for (const JobView* job : jobs) left -= job->request.min;
    for (const JobView& job : view.jobs.Waiting()) {
      if (job.request.min > left) break;  // Nobody overtakes: the queue moves when somebody ends.
      left -= job.request.min;
      jobs.push_back(&job);
    }
    const std::vector<int> grants = Divide(jobs, left);
    Allocation allocation;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (grants[i] != jobs[i]->cores.Count()) {
        allocation.jobs[jobs[i]->id] = Run{.cores = grants[i], .split = {}};
      }
    }
    return allocation;
  }

 private:
  // Each has its min; the rest goes core by core to whoever has least, the oldest first.
  static std::vector<int> Divide(const std::vector<const JobView*>& jobs, int left) {
    std::vector<int> grants;
    grants.reserve(jobs.size());
    for (const JobView* job : jobs) grants.push_back(job->request.min);
    for (; left > 0; --left) {
      int* least = nullptr;
      for (size_t i = 0; i < jobs.size(); ++i) {
        const bool can_grow = grants[i] < jobs[i]->request.max;
        if (can_grow && (least == nullptr || grants[i] < *least)) least = &grants[i];
      }
      if (least == nullptr) break;
      ++*least;
    }
    return grants;
  }
};

}  // namespace

PolicyInfo EqualSharePolicy() {
  return {.name = "equal-share",
          .summary = "divides the cores equally among all jobs at each arrival and end",
          .source = "McCann et al., ACM TOCS 11(2), 1993 (dynamic equipartition)",
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<EqualShare>();
          }};
}

}  // namespace cosched
