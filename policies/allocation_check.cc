#include "policies/allocation_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <vector>

#include "policies/arbiter.h"
#include "policies/event_text.h"
#include "policies/occupancy.h"
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
    PlaceShares();
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
    if (std::holds_alternative<Pause>(decision)) {
      targets_.push_back({job.id, {.cores = {}, .amount = {}, .threads = job.split}});
      targets_.back().second.open_requests = job.open_requests;
    }
    const Run* run = std::get_if<Run>(&decision);
    if (run == nullptr) return;
    CheckRun(job, *run);
    const Asked asked = {&job, run, targets_.size()};
    targets_.push_back({job.id, {}});
    if (std::holds_alternative<CpuSet>(run->cores)) {
      explicit_.push_back(asked);
    } else if (std::holds_alternative<Share>(run->cores)) {
      shared_.push_back(asked);
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
    if (run.split && (run.split->inter < 1 || run.split->intra < 1)) {
      Violation(job.id, fmt::format("split {}x{} has a pool without threads", run.split->inter,
                                    run.split->intra));
    }
    if (run.open_requests) CheckOpen(job, *run.open_requests);
    if (const Share* share = std::get_if<Share>(&run.cores)) return CheckShare(job, *share);
    const CpuSet* cores = std::get_if<CpuSet>(&run.cores);
    const int count = cores ? cores->Count() : std::get<int>(run.cores);
    const CpuSet& all = CoresFor(job);
    const char* const whose = job.node ? "its node's" : "the machine's";
    if (cores && !all.Contains(*cores)) {
      Violation(job.id, fmt::format("cores {} are not within {} {}", cores->ToString(), whose,
                                    all.ToString()));
    }
    if (count < job.request.min) {
      Violation(job.id, fmt::format("{} cores are fewer than its min {}", count, job.request.min));
    }
    const bool may_exceed = oversubscribes_ && cores;
    if (count > job.request.max && !may_exceed) {
      Violation(job.id, fmt::format("{} cores are more than its max {}", count, job.request.max));
    }
    if (count > all.Count()) {
      Violation(job.id, fmt::format("{} cores are more than {} {}", count, whose, all.Count()));
    }
  }

  static void CheckOpen(const JobView& job, int open) {
    if (!job.open_range) Violation(job.id, "is no pipeline, which has open requests");
    if (open < 1 || open > job.open_range->most) {
      Violation(job.id,
                fmt::format("{} open requests are not 1 to its {}", open, job.open_range->most));
    }
  }

  void CheckNodeOfShare(const JobView& job, int node) const {
    const auto nodes = static_cast<int>(view_.nodes.size());
    if (node < 0 || node >= nodes)
      Violation(job.id, fmt::format("node {} is none of the machine's {}", node, nodes));
    const std::optional<int> stays = job.node       ? job.node
                                     : job.Shares() ? NodeOf(view_.nodes, job.cores)
                                                    : std::optional<int>();
    if (stays && *stays != node)
      Violation(job.id, fmt::format("a share of node {}, but it is in node {}", node, *stays));
  }

  void CheckShare(const JobView& job, const Share& share) const {
    if (share.amount.milli <= 0) {
      Violation(job.id, fmt::format("a share of {} cores is none", share.amount.Cores()));
    }
    if (share.node) CheckNodeOfShare(job, *share.node);
    if (share.amount > CpuShare::OfCores(job.request.max)) {
      Violation(job.id, fmt::format("a share of {} cores is more than its max {}",
                                    share.amount.Cores(), job.request.max));
    }
  }

  // Where it may run.
  const CpuSet& CoresFor(const JobView& job) const {
    return job.node ? view_.nodes[static_cast<size_t>(*job.node)] : view_.cores;
  }

  void SetTarget(const Asked& asked, CpuSet cores) {
    const Split split = asked.run->split.value_or(asked.job->SplitOn(cores.Count()));
    targets_[asked.target].second = Place::Whole(std::move(cores), split);
    SetOpen(asked);
  }

  // Shares take all cores of their nodes, on which they then may be no more than these.
  void PlaceShares() {
    if (shared_.empty() && !view_.jobs.SomeShare()) return;
    std::vector<CpuShare> used = SharesThatStay();
    std::vector<const Asked*> anywhere;
    for (const Asked& asked : shared_) {
      const int node = NodeOfShare(*asked.job, std::get<Share>(asked.run->cores));
      if (node != -1) {
        SetShare(asked, node, &used);
      } else {
        anywhere.push_back(&asked);
      }
    }
    for (const Asked* asked : anywhere) SetShare(*asked, NodeWithMostRoom(used), &used);
    for (size_t node = 0; node < used.size(); ++node) CheckNode(node, used[node]);
  }

  // What running jobs that are not named go on sharing, by node. The cores of the others stay
  // taken.
  std::vector<CpuShare> SharesThatStay() {
    std::vector<CpuShare> used(view_.nodes.size());
    if (!oversubscribes_) taken_ = CpuSet();
    for (const JobView& job : view_.jobs.Running()) {
      if (allocation_.jobs.contains(job.id)) continue;
      if (job.Shares()) {
        used[static_cast<size_t>(job.node ? *job.node : NodeOf(view_.nodes, job.cores))] +=
            job.amount;
      } else if (!oversubscribes_) {
        taken_ |= job.cores;
      }
    }
    return used;
  }

  // Where the job must have its share, or has it, or had it when it was paused; -1 = anywhere.
  int NodeOfShare(const JobView& job, const Share& share) const {
    if (job.node) return *job.node;
    if (share.node && !job.Shares()) return *share.node;
    const CpuSet& last = job.state == JobState::kPaused ? job.last_cores : job.cores;
    const auto node = std::find(view_.nodes.begin(), view_.nodes.end(), last);
    return node == view_.nodes.end() ? -1 : static_cast<int>(node - view_.nodes.begin());
  }

  int NodeWithMostRoom(const std::vector<CpuShare>& used) const {
    int best = 0;
    CpuShare most{-1};
    for (size_t node = 0; node < used.size(); ++node) {
      const CpuSet& cores = view_.nodes[node];
      const CpuShare room = CpuShare::OfCores(cores.Count()) - used[node];
      if (room <= most || (!oversubscribes_ && taken_.Intersects(cores))) continue;
      most = room;
      best = static_cast<int>(node);
    }
    return best;
  }

  void SetShare(const Asked& asked, int node, std::vector<CpuShare>* used) {
    const CpuShare amount = std::get<Share>(asked.run->cores).amount;
    const int cores = view_.nodes[static_cast<size_t>(node)].Count();
    if (amount > CpuShare::OfCores(cores)) {
      Violation(asked.job->id, fmt::format("a share of {} cores is more than node {} has, {}",
                                           amount.Cores(), node, cores));
    }
    (*used)[static_cast<size_t>(node)] += amount;
    targets_[asked.target].second = {
        .cores = view_.nodes[static_cast<size_t>(node)],
        .amount = amount,
        .threads = asked.run->split.value_or(asked.job->SplitOn(amount.Threads()))};
    SetOpen(asked);
  }

  void SetOpen(const Asked& asked) {
    targets_[asked.target].second.open_requests =
        asked.run->open_requests.value_or(asked.job->open_requests);
  }

  void CheckNode(size_t node, CpuShare used) {
    if (used.milli == 0) return;
    const CpuSet& cores = view_.nodes[node];
    if (!oversubscribes_ && taken_.Intersects(cores)) {
      throw PolicyError(fmt::format("node {} is shared, and jobs own its cores {}", node,
                                    (taken_ & cores).ToString()));
    }
    if (!oversubscribes_ && used > CpuShare::OfCores(cores.Count())) {
      throw PolicyError(fmt::format("the shares of node {} add up to {} cores, it has {}", node,
                                    used.Cores(), cores.Count()));
    }
    taken_ |= cores;
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

  // Jobs that must stay in a node choose first: others can go elsewhere.
  void PlaceCounts() {
    if (counted_.empty()) return;
    int sum = 0;
    for (const Counted& counted : counted_) sum += counted.count;
    const int machine = view_.cores.Count();
    if (!oversubscribes_ && taken_.Count() + sum > machine) {
      throw PolicyError(fmt::format("the grants add up to {} cores, the machine has {}",
                                    taken_.Count() + sum, machine));
    }
    free_ = view_.FreeCores();
    const auto is_bound = [](const Counted& counted) { return counted.job->node.has_value(); };
    if (std::none_of(counted_.begin(), counted_.end(), is_bound)) return PlaceGroup(counted_);
    const auto anywhere = std::stable_partition(counted_.begin(), counted_.end(), is_bound);
    const std::span<Counted> bound(counted_.begin(), anywhere);
    if (!oversubscribes_) CheckNodes(bound);
    PlaceGroup(bound);
    PlaceGroup({anywhere, counted_.end()});
  }

  void CheckNodes(std::span<const Counted> bound) const {
    std::vector<int> wanted(view_.nodes.size());
    for (const Counted& counted : bound) {
      const auto node = static_cast<size_t>(*counted.job->node);
      const int has = view_.nodes[node].Count();
      const int all = (wanted[node] += counted.count) + view_.nodes[node].CountCommon(taken_);
      if (all <= has) continue;
      throw PolicyError(
          fmt::format("the grants of node {} add up to {} cores, it has {}", node, all, has));
    }
  }

  // Jobs that shrink choose first among their own cores, then those that grow, then those that
  // start or resume; each group in order of submission, which is that of the ids.
  void PlaceGroup(std::span<Counted> group) {
    for (Counted& counted : group) {
      if (counted.job->Shares()) continue;  // Others have the same cores.
      counted.held = oversubscribes_ ? counted.job->cores : counted.job->cores - taken_;
    }
    SetTurns(group);
    for (const Turn turn : kTurns) {
      for (const Counted& counted : group)
        if (counted.turn == turn) PlaceOne(counted, taken_ | counted.held_behind);
    }
  }

  static void SetTurns(std::span<Counted> group) {
    for (Counted& counted : group) {
      counted.turn = counted.held.Empty()                    ? Turn::kStarts
                     : counted.count <= counted.held.Count() ? Turn::kShrinks
                                                             : Turn::kGrows;
    }
    CpuSet behind;
    for (auto turn = kTurns.rbegin(); turn != kTurns.rend(); ++turn) {
      for (auto counted = group.rbegin(); counted != group.rend(); ++counted) {
        if (counted->turn != *turn) continue;
        counted->held_behind = behind;
        behind |= counted->held;
      }
    }
  }

  void PlaceOne(const Counted& counted, const CpuSet& spoken_for) {
    const JobView& job = *counted.job;
    CpuSet available = CoresFor(job) - spoken_for;
    // A core that somebody is leaving, or must leave, costs a wait: used only if the others are not
    // enough.
    CpuSet at_once = available & free_;
    if ((counted.held | at_once).Count() >= counted.count) available = std::move(at_once);
    if ((counted.held | available).Count() < counted.count) available = CoresFor(job);
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
  std::vector<Asked> shared_;
  std::vector<Counted> counted_;
  Targets targets_;
};

std::string Describe(const std::vector<CpuSet>& nodes, const Place& place) {
  if (place.Pauses()) return std::string(kPauseText);
  if (place.Owns()) return place.cores.ToString();
  return fmt::format("{}@{}", place.amount.Cores(), NodeOf(nodes, place.cores));
}

}  // namespace

Targets ResolveAllocation(const MachineView& view, const Allocation& allocation,
                          bool oversubscribes) {
  return Resolver(view, allocation, oversubscribes).Resolve();
}

std::string DescribeAllocation(const MachineView& view, const Allocation& allocation,
                               const Targets& targets) {
  std::string text;
  auto target = targets.begin();
  for (const auto& [id, decision] : allocation.jobs) {
    while (target != targets.end() && target->first < id) ++target;
    const bool has_target = target != targets.end() && target->first == id;
    const bool rejected = std::holds_alternative<Reject>(decision);
    if (!rejected && !has_target) continue;
    std::string what = rejected ? std::string(kRejectText) : Describe(view.nodes, target->second);
    const Run* run = std::get_if<Run>(&decision);
    if (run && run->open_requests) what += fmt::format("/{}", *run->open_requests);
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : " ", id.value, what);
  }
  return text;
}

}  // namespace cosched
