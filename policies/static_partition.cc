// The machine is cut into equal slices once; each job waits, first come first served, for a whole
// slice and keeps it to its end, never more and never less. What an administrator does with one
// cpuset per tenant: isolation without adaptation. Cores that do not divide evenly stay idle. A job
// whose min is larger than a slice is rejected.

#include <algorithm>
#include <charconv>
#include <string>

#include "policies/placement.h"
#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class StaticPartition final : public Policy {
 public:
  explicit StaticPartition(int slices) : slices_(slices) {}

  Allocation Decide(const MachineView& view, const Event& event) override {
    Allocation allocation;
    if (!ChangesQueue(event)) return allocation;
    const int size = std::max(1, view.cores.Count() / slices_);
    const JobSequence waiting = view.jobs.Waiting();
    if (waiting.empty()) return allocation;
    const std::vector<CpuSet> free = FreeSlices(view, size);
    auto next = free.begin();
    for (const JobView& job : waiting) {
      if (job.request.min > size) {
        allocation.jobs[job.id] =
            Reject{"needs at least " + std::to_string(job.request.min) +
                   " cores, a slice of static-partition has " + std::to_string(size)};
      } else if (next != free.end()) {
        const int count = std::min(size, job.request.max);
        allocation.jobs[job.id] =
            Run{.cores = PlaceCores(*view.topology, {}, *next++, count), .split = {}};
      }
    }
    return allocation;
  }

 private:
  // The slices are the same at each call: they depend on the machine only.
  std::vector<CpuSet> FreeSlices(const MachineView& view, int size) const {
    const int slices = std::min(slices_, view.cores.Count());
    const CpuSet free_cores = view.FreeCores();
    std::vector<CpuSet> free;
    CpuSet rest = view.cores;
    for (int i = 0; i < slices; ++i) {
      const CpuSet slice = PlaceCores(*view.topology, {}, rest, size);
      rest = rest - slice;
      if (free_cores.Contains(slice)) free.push_back(slice);
    }
    return free;
  }

  const int slices_;
};

// More slices than cores mean one core each.
constexpr PolicyParameter kParameters[] = {
    {"slices", "auto", "auto | integer >= 1", "number of equal slices; auto = 2"},
};

int ParseSlices(const std::string& text) {
  int slices = 2;
  if (text != "auto") std::from_chars(text.data(), text.data() + text.size(), slices);
  return slices;
}

}  // namespace

PolicyInfo StaticPartitionPolicy() {
  return {.name = "static-partition",
          .summary =
              "equal fixed slices; a job waits for a whole one and keeps it; a job whose min is "
              "larger than a slice is rejected",
          .source = "",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<StaticPartition>(ParseSlices(parameters.at("slices")));
          }};
}

}  // namespace cosched
