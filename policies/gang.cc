// Gang scheduling: all threads of a job run at the same time or not at all. A matrix has a row for
// each time slot and a column for each core; a job keeps its place, all the cores it asks for in
// one row, from its start to its end, so it never migrates. Rows take turns of a quantum; a job of
// another row whose cores the row leaves idle runs too. A newcomer takes the first row with enough
// free columns, or a new one. Sources: J. Ousterhout, "Scheduling techniques for concurrent
// systems", ICDCS 1982 (the matrix, alternate selection); D. Feitelson and L. Rudolph, "Gang
// scheduling performance benefits for fine-grain synchronization", JPDC 16(4), 1992. All
// elasticity classes alike: nobody is resized.

#include <algorithm>
#include <set>
#include <vector>

#include "policies/placement.h"
#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class Gang final : public Policy {
 public:
  explicit Gang(Duration quantum) : quantum_(quantum) {}

  Duration TickPeriod() const override { return quantum_; }

  Allocation Decide(const MachineView& view, const Event& event) override {
    const bool turn_ends = std::holds_alternative<Tick>(event);
    if (!turn_ends && !ChangesQueue(event)) return {};
    RemoveEnded(view);
    if (turn_ends && !rows_.empty()) active_ = (active_ + 1) % rows_.size();
    AddNew(view);
    return Show(view);
  }

 private:
  struct Member {
    JobId id;
    CpuSet cores;
  };
  using Row = std::vector<Member>;

  void RemoveEnded(const MachineView& view) {
    for (size_t i = 0; i < rows_.size();) {
      std::erase_if(rows_[i], [&](const Member& m) { return view.Find(m.id) == nullptr; });
      if (!rows_[i].empty()) {
        ++i;
        continue;
      }
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i < active_) --active_;
    }
    if (active_ >= rows_.size()) active_ = 0;
  }

  void AddNew(const MachineView& view) {
    std::set<JobId> placed;
    for (const Row& row : rows_) {
      for (const Member& member : row) placed.insert(member.id);
    }
    for (const JobView& job : view.jobs) {
      if (!placed.contains(job.id)) AddJob(view, job);
    }
  }

  void AddJob(const MachineView& view, const JobView& job) {
    const int asked = CoresAsked(view, job);
    for (size_t i = 0;; ++i) {
      if (i == rows_.size()) rows_.emplace_back();
      CpuSet free = view.cores;
      for (const Member& member : rows_[i]) free = free - member.cores;
      if (free.Count() < asked) continue;
      rows_[i].push_back({job.id, PlaceCores(*view.topology, job.cores & free, free, asked)});
      return;
    }
  }

  // The active row, and in the order of their turns those of other rows that fit beside it.
  Allocation Show(const MachineView& view) const {
    Allocation allocation;
    CpuSet taken;
    for (size_t i = 0; i < rows_.size(); ++i) {
      for (const Member& member : rows_[(active_ + i) % rows_.size()]) {
        const JobView& job = *view.Find(member.id);
        if ((member.cores & taken).Empty()) {
          taken = taken | member.cores;
          if (job.cores != member.cores)
            allocation.jobs[job.id] = Run{.cores = member.cores, .split = {}};
        } else if (job.IsActive()) {
          allocation.jobs[job.id] = Pause{};
        }
      }
    }
    return allocation;
  }

  const Duration quantum_;
  std::vector<Row> rows_;  // None empty.
  size_t active_ = 0;
};

constexpr PolicyParameter kParameters[] = {
    {"quantum_ms", "500", "number >= 1", "length of a time slot"},
};

}  // namespace

PolicyInfo GangPolicy() {
  return {.name = "gang",
          .summary = "jobs keep their cores; sets of jobs that fit side by side take turns",
          .source = "Ousterhout, ICDCS 1982; Feitelson and Rudolph, JPDC 16(4), 1992",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<Gang>(FromSeconds(NumberOf(parameters, "quantum_ms") * 1e-3));
          }};
}

}  // namespace cosched
