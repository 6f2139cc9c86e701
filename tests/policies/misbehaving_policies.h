#pragma once
// Policies that are no use, for tests of what protects a run from them. Not in the shipped table.

#include <stdexcept>
#include <string>

#include "policies/registry.h"

namespace cosched {

// Never decides anything.
class IdlePolicy final : public Policy {
 public:
  Allocation Decide(const MachineView&, const Event&) override { return {}; }
};

// Starts everybody on one core, if it can, until so many questions have been asked; then answers
// with nonsense of one kind.
class NonsensePolicy final : public Policy {
 public:
  enum class Kind {
    kUnknownJob,
    kTooManyCores,
    kTooFewCores,
    kForeignCores,
    kCoreTwice,
    kPauseOfWaiting,
    kRejectOfRunning,
    kEmptySplit,
    kException,
    kCount,
  };
  NonsensePolicy(Kind kind, int sensible_answers) : kind_(kind), sensible_(sensible_answers) {}

  Allocation Decide(const MachineView& view, const Event&) override {
    Allocation allocation;
    int free = view.FreeCores().Count();
    for (const JobView& job : view.jobs.Waiting()) {
      if (free-- > 0 && job.request.min == 1)
        allocation.jobs[job.id] = Run{.cores = 1, .split = {}};
    }
    if (sensible_-- <= 0 && view.jobs.size() > 0) Spoil(view, &allocation);
    return allocation;
  }

  static std::string Reason(Kind kind) {
    constexpr const char* kReasons[] = {"there is no such job",
                                        "more than its max",
                                        "fewer than its min",
                                        "not within the machine's",
                                        "granted twice",
                                        "only a running job can be paused",
                                        "only a waiting job can be rejected",
                                        "a pool without threads",
                                        "the policy threw: out of ideas"};
    static_assert(std::size(kReasons) == static_cast<size_t>(Kind::kCount));
    return kReasons[static_cast<size_t>(kind)];
  }

 private:
  void Spoil(const MachineView& view, Allocation* allocation) const {
    const JobView& job = *view.jobs.begin();
    const CpuSet first{view.cores.First()};
    const auto answer = [&](JobDecision decision) {
      allocation->jobs[job.id] = std::move(decision);
    };
    switch (kind_) {
      case Kind::kUnknownJob: allocation->jobs[JobId{999}] = Run{.cores = 1, .split = {}}; break;
      case Kind::kTooManyCores: answer(Run{.cores = 999, .split = {}}); break;
      case Kind::kTooFewCores: answer(Run{.cores = 0, .split = {}}); break;
      case Kind::kForeignCores: answer(Run{.cores = CpuSet{4000}, .split = {}}); break;
      case Kind::kCoreTwice:
        for (const JobView& each : view.jobs)
          allocation->jobs[each.id] = Run{.cores = first, .split = {}};
        break;
      case Kind::kPauseOfWaiting:
        for (const JobView& each : view.jobs.Waiting()) allocation->jobs[each.id] = Pause{};
        break;
      case Kind::kRejectOfRunning:
        for (const JobView& each : view.jobs.Running()) allocation->jobs[each.id] = Reject{""};
        break;
      case Kind::kEmptySplit: answer(Run{.cores = 1, .split = Split{0, 1}}); break;
      case Kind::kException: throw std::runtime_error("out of ideas");
      case Kind::kCount: break;
    }
  }

  const Kind kind_;
  int sensible_;
};

}  // namespace cosched
