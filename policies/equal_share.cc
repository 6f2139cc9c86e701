// Dynamic equipartition: at each arrival and each end the cores are divided anew, equally among as
// many jobs as fit with their min, within each job's min and max; a remainder goes to the oldest.
// Running jobs shrink so that newcomers can start. Source: McCann, Vaswani, Zahorjan, "A Dynamic
// Processor Allocation Policy for Multiprogrammed Shared-Memory Multiprocessors", ACM TOCS 11(2),
// 1993.

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class EqualShare final : public Policy {
 public:
  Allocation Decide(const MachineView& view, const Event& event) override {
    if (!ChangesQueue(event)) return {};
    int left = 0;
    const std::vector<const JobView*> jobs = RunningAndNext(view, &left);
    std::vector<CoreBounds> bounds;
    bounds.reserve(jobs.size());
    for (const JobView* job : jobs) bounds.push_back({job->request.min, job->request.max});
    const std::vector<int> grants = DivideEqually(bounds, left);
    Allocation allocation;
    for (size_t i = 0; i < jobs.size(); ++i) GiveCores(*jobs[i], grants[i], &allocation);
    return allocation;
  }
};

}  // namespace

PolicyInfo EqualSharePolicy() {
  return {.name = "equal-share",
          .summary =
              "divides the cores equally among all jobs at each arrival and end, as far as "
              "their min fits, first come, first served; running jobs shrink for newcomers",
          .source = "McCann et al., ACM TOCS 11(2), 1993 (dynamic equipartition)",
          .on_settled = false,
          .make = [](const PolicyParameters&) -> std::unique_ptr<Policy> {
            return std::make_unique<EqualShare>();
          }};
}

}  // namespace cosched
