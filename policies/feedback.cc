// A job gets as many cores as it uses well, by its own measured speed: no curve is known. A
// malleable job starts on its min, whose speed per core is its reference; each period in which it
// has been measured it gets `step` cores more if its efficiency, speed / (cores x reference), is at
// least the target, and `step` fewer if it is below; then it is stable until a job ends. Those that
// wait come before those that would grow. Rigid jobs start with all that they ask for, moldable
// ones with what is free of it, and both are left alone: more cores would not make them faster.
// Source: J. Corbalan, X. Martorell, J. Labarta, "Performance-driven processor allocation", OSDI
// 2000; IEEE TPDS 16(7), 2005. A measurement takes a period and at least kLeastSteps steps on
// settled cores.

#include <algorithm>
#include <map>

#include "policies/queue_order.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr double kLeastSteps =
    4;  // Progress comes in whole steps: fewer would measure their edges.

class Feedback final : public Policy {
 public:
  Feedback(Duration period, double target, int step)
      : period_(period), target_(target), step_(step) {}

  Duration TickPeriod() const override { return period_; }

  Allocation Decide(const MachineView& view, const Event& event) override {
    if (const auto* settled = std::get_if<GrantSettled>(&event)) {
      if (const JobView* job = view.Find(settled->job)) BeginMeasuring(view, *job);
      return {};
    }
    std::erase_if(states_, [&](const auto& state) { return !view.Find(state.first); });
    if (FreesCores(event)) {
      for (auto& [id, state] : states_) state.stable = false;
    }
    Handout handout(view);
    for (const JobView& job : view.jobs.Waiting()) {
      const int cores = First(view, job, handout.free());
      if (cores >= job.request.min && cores <= handout.free()) handout.Start(job, cores);
    }
    Allocation allocation = handout.Take();
    const bool all_run = allocation.jobs.size() == view.jobs.Waiting().size();
    int free = all_run ? handout.free() : 0;
    if (std::holds_alternative<Tick>(event)) {
      for (const JobView& job : view.jobs.Running()) Adjust(view, job, &free, &allocation);
    }
    return allocation;
  }

 private:
  struct State {
    TimePoint since;  // The begin of the measurement under way, on `cores`.
    double progress = 0;
    int cores = 0;
    double reference = 0;  // Progress per second and core on its min; 0 = not measured yet.
    bool stable = false;   // Does not grow.
  };

  static int First(const MachineView& view, const JobView& job, int free) {
    switch (job.elasticity) {
      case Elasticity::kMalleable: return job.request.min;
      case Elasticity::kMoldable: return std::min(CoresAsked(view, job), free);
      case Elasticity::kRigid: break;
    }
    return CoresAsked(view, job);
  }

  void BeginMeasuring(const MachineView& view, const JobView& job) {
    State& state = states_[job.id];
    state.since = view.now;
    state.progress = view.Progress(job);
    state.cores = job.cores.Count();
  }

  void Adjust(const MachineView& view, const JobView& job, int* free, Allocation* allocation) {
    const auto found = states_.find(job.id);
    if (job.elasticity != Elasticity::kMalleable || found == states_.end()) return;
    State& state = found->second;
    const int cores = job.cores.Count();
    const double seconds = ToSeconds(view.now - state.since);
    const double progress = view.Progress(job) - state.progress;
    const bool too_few = job.steps > 0 && progress * static_cast<double>(job.steps) < kLeastSteps;
    if (state.cores != cores || seconds <= 0 || progress <= 0 || too_few) return;
    const double per_core = progress / seconds / cores;
    if (state.reference <= 0) state.reference = per_core;
    BeginMeasuring(view, job);
    int wanted = cores;
    if (per_core < target_ * state.reference) {
      state.stable = true;
      wanted = std::max(job.request.min, cores - step_);
    } else if (!state.stable) {
      wanted = std::min({job.request.max, cores + step_, cores + *free});
    }
    if (wanted == cores) return;
    *free -= std::max(0, wanted - cores);  // What it gives up is not free before it has left.
    allocation->jobs[job.id] = Run{.cores = wanted, .split = {}};
  }

  const Duration period_;
  const double target_;
  const int step_;
  std::map<JobId, State> states_;  // States of jobs that have run.
};

constexpr PolicyParameter kParameters[] = {
    {"period_ms", "500", "number >= 1", "how often jobs are measured"},
    {"target", "0.7", "number > 0 and <= 1", "the efficiency to keep, of that on the job's min"},
    {"step", "1", "integer >= 1", "cores added or taken at once"},
};

}  // namespace

PolicyInfo FeedbackPolicy() {
  return {.name = "feedback",
          .summary = "grows a job while its measured efficiency stays above a target",
          .source = "Corbalan et al., OSDI 2000; IEEE TPDS 16(7), 2005 (PDPA)",
          .parameters = kParameters,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            return std::make_unique<Feedback>(FromSeconds(NumberOf(parameters, "period_ms") * 1e-3),
                                              NumberOf(parameters, "target"),
                                              IntegerOf(parameters, "step"));
          }};
}

}  // namespace cosched
