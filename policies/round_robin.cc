// Round robin: jobs take turns on the cores, a quantum each. Those at the front of the line run;
// when a quantum is over, the jobs that have had all of it go to the back and are paused if others
// are before them now. One that came to its cores in the middle of a quantum keeps them until the
// end of the next. Planned, never built, in Libutti's thesis 2023 with its rules for how many
// cores: strict = all it asks for, always-attend = what is left, if that is its min or more, grown
// to what it asks when cores are freed. (Its MAX_PROP would give everybody a share at once and
// leave no turns to take.) All elasticity classes take turns alike; under
// always-attend the threads of rigid jobs, and of moldable ones after their start, do not follow.

#include <algorithm>
#include <set>
#include <vector>

#include "policies/queue_order.h"
#include "policies/registry.h"
#include "policies/repartition.h"

namespace cosched {
namespace {

class RoundRobin final : public Policy {
 public:
  RoundRobin(Duration quantum, bool strict) : quantum_(quantum), strict_(strict) {}

  Duration TickPeriod() const override { return quantum_; }

  Allocation Decide(const MachineView& view, const Event& event) override {
    const bool turn_ends = std::holds_alternative<Tick>(event);
    if (!turn_ends && !ChangesQueue(event)) return {};
    Follow(view);
    std::vector<JobId> had_turn;
    if (turn_ends) had_turn = SendToTheBack();
    std::map<JobId, int> cores = Serve(view, had_turn);
    if (turn_ends) {
      had_quantum_.clear();
      for (const auto& [id, count] : cores) had_quantum_.insert(id);
    }
    Allocation allocation;
    for (const JobId id : line_) GiveCores(*view.Find(id), cores[id], &allocation);
    return allocation;
  }

 private:
  // Those who came go to the end of the line, those who ended leave it.
  void Follow(const MachineView& view) {
    std::erase_if(line_, [&](JobId id) { return view.Find(id) == nullptr; });
    std::erase_if(had_quantum_, [&](JobId id) { return view.Find(id) == nullptr; });
    const std::set<JobId> known(line_.begin(), line_.end());
    for (const JobView& job : view.jobs) {
      if (!known.contains(job.id)) line_.push_back(job.id);
    }
  }

  std::vector<JobId> SendToTheBack() {
    const auto back = std::stable_partition(line_.begin(), line_.end(),
                                            [&](JobId id) { return !had_quantum_.contains(id); });
    return {back, line_.end()};
  }

  // Who runs on how many cores: those whose turn is not over, then the line.
  std::map<JobId, int> Serve(const MachineView& view, const std::vector<JobId>& had_turn) const {
    const std::set<JobId> over(had_turn.begin(), had_turn.end());
    std::map<JobId, int> cores;
    int free = view.cores.Count();
    const auto stays = [&](JobId id) { return view.Find(id)->IsActive() && !over.contains(id); };
    for (const JobId id : line_) {
      if (stays(id)) free -= (cores[id] = view.Find(id)->cores.Count());
    }
    for (const JobId id : line_) {
      const JobView& job = *view.Find(id);
      const int held = stays(id) ? cores[id] : 0;
      const int asked = CoresAsked(view, job);
      const int possible = std::min(asked, held + free);
      const bool enough = strict_ ? possible == asked : possible >= job.request.min;
      if (!enough || possible <= held) continue;
      cores[id] = possible;
      free -= possible - held;
    }
    return cores;
  }

  const Duration quantum_;
  const bool strict_;
  std::vector<JobId> line_;
  std::set<JobId> had_quantum_;  // They run since the last tick or longer.
};

constexpr PolicyParameter kParameters[] = {
    {"quantum_ms", "500", "number >= 1", "length of a turn"},
    {"assignment", "strict", "strict | always-attend", "all it asks for, or what is left"},
};

}  // namespace

PolicyInfo RoundRobinPolicy() {
  return {.name = "round-robin",
          .summary = "jobs take turns of a quantum each; the others are paused",
          .source = "Libutti, thesis 2023 (Round Robin, planned)",
          .parameters = kParameters,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<RoundRobin>(
                FromSeconds(NumberOf(parameters, "quantum_ms") * 1e-3),
                parameters.at("assignment") == "strict");
          }};
}

}  // namespace cosched
