#include "experiments/plan.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "traces/job_generator.h"

namespace cosched {
namespace {

JobTrace DrawJobs(const ExperimentConfig& config, int trial) {
  if (config.trace.replay) return *config.trace.replay;
  if (config.trace.jobs == 0) return {};
  std::vector<WeightedWorkload> workloads;
  for (const WorkloadConfig& workload : config.workloads)
    workloads.push_back({workload.name, workload.weight});
  const Random random = Random(config.seed).Derive("trace").Derive(std::to_string(trial));
  return GenerateTrace(config.trace.jobs, config.trace.gap, workloads, random);
}

// Services first.
JobTrace DrawTrace(const ExperimentConfig& config, int trial) {
  JobTrace jobs = DrawJobs(config, trial);
  JobTrace services;
  for (const WorkloadConfig& workload : config.workloads) {
    if (!workload.spec.serves) continue;
    services.emplace_back().workload = workload.name;
  }
  jobs.insert(jobs.begin(), services.begin(), services.end());
  return jobs;
}

RequestTrace DrawStream(const RequestStream& stream, const Random& random) {
  RequestTrace requests;
  Random draws = random.Derive("work");
  const Sampler work(stream.work);
  for (const JobArrival& arrival :
       GenerateTrace(stream.count, stream.gap, {{stream.service, 1}}, random)) {
    RequestArrival& request = requests.emplace_back();
    request.time = stream.start + arrival.time;
    request.service = stream.service;
    request.work = work.Draw(draws);
  }
  return requests;
}

RequestTrace DrawRequests(const ExperimentConfig& config, int trial) {
  RequestTrace requests = config.trace.replay_requests;
  const Random random = Random(config.seed).Derive("requests").Derive(std::to_string(trial));
  for (size_t i = 0; i < config.trace.requests.size(); ++i) {
    RequestTrace stream = DrawStream(config.trace.requests[i], random.Derive(std::to_string(i)));
    std::move(stream.begin(), stream.end(), std::back_inserter(requests));
  }
  std::stable_sort(
      requests.begin(), requests.end(),
      [](const RequestArrival& a, const RequestArrival& b) { return a.time < b.time; });
  return requests;
}

}  // namespace

Plan MakePlan(const ExperimentConfig& config) {
  Plan plan;
  const Random blocks = Random(config.seed).Derive("order of cells");
  for (int trial = 1; trial <= config.trials; ++trial) {
    plan.traces.push_back(DrawTrace(config, trial));
    plan.requests.push_back(DrawRequests(config, trial));
    std::vector<CellKey> block;
    for (const std::string& policy : config.policies) {
      for (Elasticity elasticity : config.elasticities) {
        block.push_back({.policy = policy, .elasticity = elasticity, .trial = trial});
      }
    }
    ShuffleBlock(blocks, trial, &block);
    plan.cells.insert(plan.cells.end(), block.begin(), block.end());
  }
  return plan;
}

Job JobOf(const ExperimentConfig& config, const JobArrival& arrival, int64_t index,
          Elasticity elasticity) {
  const WorkloadConfig& workload = *config.FindWorkload(arrival.workload);
  if (arrival.elasticity) elasticity = std::min(elasticity, *arrival.elasticity);
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
          .speed = std::move(speed),
          .arrival = TimePoint(arrival.time),
          .response_objective = workload.slo};
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
