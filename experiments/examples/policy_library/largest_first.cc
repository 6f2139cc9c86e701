// An example of a policy outside of the tree: the job that asks for the most cores starts first;
// smaller ones fill what is left. Compile it and run it beside the policies of an experiment:
//
//   g++ -std=c++20 -O2 -fPIC -shared -I . experiments/examples/policy_library/largest_first.cc
//       -o largest_first.so
//   build/cosched run experiments/quickstart.toml --policy-library ./largest_first.so

#include <algorithm>
#include <vector>

#include "policies/policy_library.h"

namespace cosched {
namespace {

class LargestFirst final : public Policy {
 public:
  explicit LargestFirst(int least) : least_(least) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    std::vector<const JobView*> waiting;
    for (const JobView& job : view.jobs.Waiting()) waiting.push_back(&job);
    std::stable_sort(waiting.begin(), waiting.end(), [](const JobView* a, const JobView* b) {
      return a->request.preferred > b->request.preferred;
    });
    Allocation allocation;
    int free = view.FreeCores().Count();
    for (const JobView* job : waiting) {
      const int cores = std::max(job->request.min, std::min(job->request.preferred, free));
      if (cores > free || cores < std::min(least_, job->request.max)) continue;
      allocation.jobs[job->id] = Run{.cores = cores, .split = {}};
      free -= cores;
    }
    return allocation;
  }

 private:
  const int least_;
};

constexpr PolicyParameter kParameters[] = {
    {"least", "1", "integer >= 1", "cores below which no job that may have more starts"},
};

}  // namespace

PolicyInfo LargestFirstPolicy() {
  return {.name = "largest-first",
          .summary = "starts the job that asks for the most cores first",
          .source = "",
          .parameters = kParameters,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<LargestFirst>(IntegerOf(parameters, "least"));
          }};
}

}  // namespace cosched

COSCHED_EXPORT_POLICY(cosched::LargestFirstPolicy)
