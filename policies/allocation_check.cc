#include "policies/allocation_check.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <vector>

#include "policies/arbiter.h"
#include "policies/event_text.h"
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

  Targets Resolve() {
    if (allocation_.jobs.empty()) return {};
    targets_.reserve(allocation_.jobs.size());
    counted_.reserve(allocation_.jobs.size());
    CoreCounter holders;  // Only where a core may have several.
    if (oversubscribes_) holders = view_.jobs.Holders();
    taken_ = view_.jobs.Held();
    for (const auto& [id, decision] : allocation_.jobs) {
      const JobView* job = view_.Find(id);
      if (job == nullptr) Violation(id, "there is no such job");
      CheckState(*job, decision);
      if (job->IsActive()) {
        taken_ -= job->cores;
        if (oversubscribes_) holders.Remove(job->cores);
      }
      AddTarget(*job, decision);
    }
    if (oversubscribes_) taken_ = holders.Held();
    TakeExplicit();
    PlaceCounts();
    return std::move(targets_);
  }

 private:
  struct Asked {
    const JobView* job;
    const Run* run;
    size_t target;  // Index.
  };
  enum class Turn { kShrinks, kGrows, kStarts };
  static constexpr std::array kTurns = {Turn::kShrinks, Turn::kGrows, Turn::kStarts};
  struct Counted : Asked {
    int count;
    CpuSet held = {};
    CpuSet held_behind = {};  // By those whose turn is later: theirs to keep.
    Turn turn = Turn::kStarts;
  };

  void AddTarget(const JobView& job, const JobDecision& decision) {
    if (std::holds_alternative<Pause>(decision)) targets_.push_back({job.id, {{}, job.split}});
    const Run* run = std::get_if<Run>(&decision);
    if (run == nullptr) return;
    CheckRun(job, *run);
    const Asked asked = {&job, run, targets_.size()};
    targets_.push_back({job.id, {}});
    if (std::holds_alternative<CpuSet>(run->cores)) {
      explicit_.push_back(asked);
    } else {
      counted_.push_back({asked, std::get<int>(run->cores)});
    }
  }

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

  void SetTarget(const Asked& asked, CpuSet cores) {
    const Split split = asked.run->split.value_or(DefaultSplit(cores.Count()));
    targets_[asked.target].second = {std::move(cores), split};
  }

  void TakeExplicit() {
    for (const Asked& asked : explicit_) {
      const auto& cores = std::get<CpuSet>(asked.run->cores);
      if (!oversubscribes_ && taken_.Intersects(cores)) {
        Violation(asked.job->id,
                  fmt::format("cores {} are granted twice", (taken_ & cores).ToString()));
      }
      taken_ |= cores;
      SetTarget(asked, cores);
    }
  }

  // Jobs that shrink choose first among their own cores, then those that grow, then those that
  // start or resume; each group in order of submission, which is that of the ids.
  void PlaceCounts() {
    if (counted_.empty()) return;
    int sum = 0;
    for (Counted& counted : counted_) {
      counted.held = oversubscribes_ ? counted.job->cores : counted.job->cores - taken_;
      sum += counted.count;
    }
    const int machine = view_.cores.Count();
    if (!oversubscribes_ && taken_.Count() + sum > machine) {
      throw PolicyError(fmt::format("the grants add up to {} cores, the machine has {}",
                                    taken_.Count() + sum, machine));
    }
    SetTurns();
    free_ = view_.FreeCores();
    for (const Turn turn : kTurns) {
      for (const Counted& counted : counted_)
        if (counted.turn == turn) PlaceOne(counted, taken_ | counted.held_behind);
    }
  }

  void SetTurns() {
    for (Counted& counted : counted_) {
      counted.turn = counted.held.Empty()                    ? Turn::kStarts
                     : counted.count <= counted.held.Count() ? Turn::kShrinks
                                                             : Turn::kGrows;
    }
    CpuSet behind;
    for (auto turn = kTurns.rbegin(); turn != kTurns.rend(); ++turn) {
      for (auto counted = counted_.rbegin(); counted != counted_.rend(); ++counted) {
        if (counted->turn != *turn) continue;
        counted->held_behind = behind;
        behind |= counted->held;
      }
    }
  }

  void PlaceOne(const Counted& counted, const CpuSet& spoken_for) {
    const JobView& job = *counted.job;
    CpuSet available = view_.cores - spoken_for;
    // A core that somebody is leaving, or must leave, costs a wait: used only if the others are not
    // enough.
    CpuSet at_once = available & free_;
    if ((counted.held | at_once).Count() >= counted.count) available = std::move(at_once);
    if ((counted.held | available).Count() < counted.count) available = view_.cores;
    const bool resumes = job.state == JobState::kPaused;
    const CpuSet cores =
        PlaceCores(*view_.topology, resumes ? job.last_cores & available : counted.held, available,
                   counted.count);
    SetTarget(counted, cores);
    taken_ |= cores;
  }

  const MachineView& view_;
  const Allocation& allocation_;
  const bool oversubscribes_;
  CpuSet taken_;  // Cores that belong to somebody in the new state, as far as it is known.
  CpuSet free_;   // Cores free of everybody, before this allocation.
  std::vector<Asked> explicit_;
  std::vector<Counted> counted_;
  Targets targets_;
};

}  // namespace

Targets ResolveAllocation(const MachineView& view, const Allocation& allocation,
                          bool oversubscribes) {
  return Resolver(view, allocation, oversubscribes).Resolve();
}

std::string DescribeAllocation(const Allocation& allocation, const Targets& targets) {
  std::string text;
  auto target = targets.begin();
  for (const auto& [id, decision] : allocation.jobs) {
    while (target != targets.end() && target->first < id) ++target;
    const bool has_target = target != targets.end() && target->first == id;
    const bool rejected = std::holds_alternative<Reject>(decision);
    if (!rejected && !has_target) continue;
    const std::string what = rejected                       ? std::string(kRejectText)
                             : target->second.cores.Empty() ? std::string(kPauseText)
                                                            : target->second.cores.ToString();
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", id.value, what);
  }
  return text;
}

}  // namespace cosched
