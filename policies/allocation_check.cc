#include "policies/allocation_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "policies/arbiter.h"
#include "policies/placement.h"

namespace cosched {
namespace {

[[noreturn]] void Violation(JobId job, const std::string& problem) {
  throw PolicyError(fmt::format("job {}: {}", job.value, problem));
}

class Resolver {
 public:
  Resolver(const MachineView& view, const Allocation& allocation, bool oversubscribes)
      : view_(view), allocation_(allocation), oversubscribes_(oversubscribes) {}

  std::map<JobId, Target> Resolve() {
    for (const auto& [id, decision] : allocation_.jobs) {
      const JobView* job = view_.Find(id);
      if (job == nullptr) Violation(id, "there is no such job");
      CheckState(*job, decision);
      if (const Run* run = std::get_if<Run>(&decision)) CheckRun(*job, *run);
      if (std::holds_alternative<Pause>(decision)) targets_[id] = {CpuSet(), job->split};
    }
    for (const JobView& job : view_.jobs) {
      if (job.IsActive() && !allocation_.jobs.contains(job.id)) Take(job, job.cores);
    }
    TakeExplicit();
    PlaceCounts();
    return std::move(targets_);
  }

 private:
  struct Counted {
    const JobView* job;
    int count;
    CpuSet held;
  };

  static void CheckState(const JobView& job, const JobDecision& decision) {
    if (std::holds_alternative<Pause>(decision) && job.state != JobState::kRunning) {
      Violation(job.id, "only a running job can be paused");
    }
    if (std::holds_alternative<Reject>(decision) && job.state != JobState::kWaiting) {
      Violation(job.id, "only a waiting job can be rejected");
    }
  }

  void CheckRun(const JobView& job, const Run& run) const {
    const CpuSet* cores = std::get_if<CpuSet>(&run.cores);
    const int count = cores ? cores->Count() : std::get<int>(run.cores);
    if (cores && !view_.cores.Contains(*cores)) {
      Violation(job.id, fmt::format("cores {} are not within the machine's {}", cores->ToString(),
                                    view_.cores.ToString()));
    }
    if (count < job.request.min) {
      Violation(job.id, fmt::format("{} cores are fewer than its min {}", count, job.request.min));
    }
    const bool may_exceed = oversubscribes_ && cores;
    if (count > job.request.max && !may_exceed) {
      Violation(job.id, fmt::format("{} cores are more than its max {}", count, job.request.max));
    }
    if (count > view_.cores.Count()) {
      Violation(job.id,
                fmt::format("{} cores are more than the machine's {}", count, view_.cores.Count()));
    }
    if (run.split && (run.split->inter < 1 || run.split->intra < 1)) {
      Violation(job.id, fmt::format("split {}x{} has a pool without threads", run.split->inter,
                                    run.split->intra));
    }
  }

  void Take(const JobView& job, const CpuSet& cores) {
    const CpuSet twice = taken_ & cores;
    if (!twice.Empty() && !oversubscribes_) {
      Violation(job.id, fmt::format("cores {} are granted twice", twice.ToString()));
    }
    taken_ = taken_ | cores;
  }

  void SetTarget(const JobView& job, const Run& run, const CpuSet& cores) {
    targets_[job.id] = {cores, run.split.value_or(DefaultSplit(cores.Count()))};
  }

  void TakeExplicit() {
    for (const auto& [id, decision] : allocation_.jobs) {
      const Run* run = std::get_if<Run>(&decision);
      if (run == nullptr || !std::holds_alternative<CpuSet>(run->cores)) continue;
      const JobView& job = *view_.Find(id);
      Take(job, std::get<CpuSet>(run->cores));
      SetTarget(job, *run, std::get<CpuSet>(run->cores));
    }
  }

  // Jobs that shrink choose first among their own cores, then those that grow, then those that
  // start or resume; each group in order of submission.
  void PlaceCounts() {
    std::vector<Counted> counted;
    int sum = 0;
    for (const JobView& job : view_.jobs) {
      const auto it = allocation_.jobs.find(job.id);
      if (it == allocation_.jobs.end()) continue;
      const Run* run = std::get_if<Run>(&it->second);
      if (run == nullptr || !std::holds_alternative<int>(run->cores)) continue;
      const CpuSet held = oversubscribes_ ? job.cores : job.cores - taken_;
      counted.push_back({&job, std::get<int>(run->cores), held});
      sum += counted.back().count;
    }
    if (!oversubscribes_ && taken_.Count() + sum > view_.cores.Count()) {
      throw PolicyError(fmt::format("the grants add up to {} cores, the machine has {}",
                                    taken_.Count() + sum, view_.cores.Count()));
    }
    auto rank = [](const Counted& c) {
      if (c.held.Empty()) return 2;
      return c.count <= c.held.Count() ? 0 : 1;
    };
    auto before = [&](const Counted& a, const Counted& b) { return rank(a) < rank(b); };
    std::stable_sort(counted.begin(), counted.end(), before);
    for (size_t i = 0; i < counted.size(); ++i) {
      CpuSet spoken_for = taken_;
      for (size_t later = i + 1; later < counted.size(); ++later) {
        spoken_for = spoken_for | counted[later].held;
      }
      PlaceOne(counted[i], spoken_for);
    }
  }

  void PlaceOne(const Counted& counted, const CpuSet& spoken_for) {
    const JobView& job = *counted.job;
    CpuSet available = view_.cores - spoken_for;
    // A core that somebody is leaving, or must leave, costs a wait: used only if the others are not
    // enough.
    const CpuSet at_once = available & view_.FreeCores();
    if ((counted.held | at_once).Count() >= counted.count) available = at_once;
    if ((counted.held | available).Count() < counted.count) available = view_.cores;
    CpuSet held = counted.held;
    if (job.state == JobState::kPaused) held = job.last_cores & available;
    const CpuSet cores = Place(*view_.topology, held, available, counted.count);
    SetTarget(job, std::get<Run>(allocation_.jobs.at(job.id)), cores);
    taken_ = taken_ | cores;
  }

  const MachineView& view_;
  const Allocation& allocation_;
  const bool oversubscribes_;
  CpuSet taken_;  // Cores that belong to somebody in the new state, as far as it is known.
  std::map<JobId, Target> targets_;
};

}  // namespace

std::map<JobId, Target> ResolveAllocation(const MachineView& view, const Allocation& allocation,
                                          bool oversubscribes) {
  return Resolver(view, allocation, oversubscribes).Resolve();
}

std::string DescribeAllocation(const Allocation& allocation,
                               const std::map<JobId, Target>& targets) {
  std::string text;
  for (const auto& [id, decision] : allocation.jobs) {
    const auto target = targets.find(id);
    const bool rejected = std::holds_alternative<Reject>(decision);
    if (!rejected && target == targets.end()) continue;
    const std::string what = rejected                       ? "reject"
                             : target->second.cores.Empty() ? "pause"
                                                            : target->second.cores.ToString();
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", id.value, what);
  }
  return text;
}

}  // namespace cosched
