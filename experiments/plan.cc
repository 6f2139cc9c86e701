#include "experiments/plan.h"

#include <algorithm>

#include "engine/base/random.h"
#include "traces/job_generator.h"

namespace cosched {
namespace {

JobTrace DrawTrace(const ExperimentConfig& config, int trial) {
  if (config.trace.replay) {
    JobTrace trace = *config.trace.replay;
    const Duration first = trace.front().time;
    for (JobArrival& arrival : trace) arrival.time -= first;
    return trace;
  }
  std::vector<WeightedWorkload> workloads;
  for (const WorkloadConfig& workload : config.workloads)
    workloads.push_back({workload.name, workload.weight});
  const Random random = Random(config.seed).Derive("trace").Derive(std::to_string(trial));
  return GenerateTrace(config.trace.jobs, config.trace.gap, workloads, random);
}

}  // namespace

Plan MakePlan(const ExperimentConfig& config) {
  Plan plan;
  for (int trial = 1; trial <= config.trials; ++trial) {
    plan.traces.push_back(DrawTrace(config, trial));
    for (const std::string& policy : config.policies) {
      for (Elasticity elasticity : config.elasticities) {
        plan.cells.push_back({.policy = policy, .elasticity = elasticity, .trial = trial});
      }
    }
  }
  Random random = Random(config.seed).Derive("order of cells");
  for (size_t i = plan.cells.size(); i > 1; --i)
    std::swap(plan.cells[i - 1], plan.cells[random.Below(i)]);
  return plan;
}

Job JobOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
          Elasticity elasticity) {
  const WorkloadConfig& workload = *config.FindWorkload(arrival.workload);
  const CoreRequest request = RequestOf(workload, arrival);
  const Split threads{workload.inter, workload.threads.value_or(request.preferred)};
  std::shared_ptr<const SpeedCurve> speed;
  if (config.profile)
    speed = config.profile->speeds->Of(ProgramName(workload.spec), elasticity, threads);
  return {.id = {index},
          .workload = workload.name,
          .request = request,
          .elasticity = elasticity,
          .priority = arrival.priority.value_or(workload.priority),
          .threads = threads,
          .steps = arrival.steps.value_or(workload.spec.steps),
          .speed = std::move(speed)};
}

TenantSpec SpecOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
                  int trial) {
  TenantSpec spec = config.FindWorkload(arrival.workload)->spec;
  if (arrival.steps) spec.steps = *arrival.steps;
  spec.seed = Random(config.seed)
                  .Derive("job")
                  .Derive(std::to_string(trial))
                  .Derive(std::to_string(index))
                  .Next();
  spec.seed >>=
      1;  // It travels as JSON and as a command line's integer; both are at home below 2^63.
  return spec;
}

}  // namespace cosched
