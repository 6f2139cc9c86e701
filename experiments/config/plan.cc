#include "experiments/config/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/base/check.h"
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

// A number a job, whatever the share.
JobTrace WithRigidJobs(const JobTrace& jobs, double malleable_share, Random draws) {
  JobTrace mixed;
  mixed.Reserve(jobs.size());
  for (JobArrival job : jobs) {
    if (draws.Uniform() >= malleable_share) job.elasticity = Elasticity::kRigid;
    mixed.Add(job);
  }
  return mixed;
}

int Instances(const ExperimentConfig& config, const WorkloadConfig& workload) {
  return workload.per_node ? config.nodes : 1;
}

// Services first: each instance is a job.
JobTrace DrawTrace(const ExperimentConfig& config, int trial) {
  JobTrace jobs = DrawJobs(config, trial);
  if (const double share = config.trace.malleable_share; share < 1) {
    const Random draws = Random(config.seed).Derive("malleable").Derive(std::to_string(trial));
    jobs = WithRigidJobs(jobs, share, draws);
  }
  if (!config.HasServices()) return jobs;
  JobTrace all;
  for (const WorkloadConfig& workload : config.workloads) {
    JobArrival service;
    service.workload = workload.name;
    if (!workload.spec.serves) continue;
    for (int instance = 0; instance < Instances(config, workload); ++instance) all.Add(service);
  }
  for (const JobArrival& job : jobs) all.Add(job);
  return all;
}

// Thinking times and work of all their requests, dealt to them in turn.
std::vector<ClientScript> DrawClients(const RequestStream& stream, const Random& random) {
  std::vector<ClientScript> clients(static_cast<size_t>(stream.clients));
  Random think_draws = random.Derive("gaps"), work_draws = random.Derive("work");
  const Sampler think(stream.gap), work(stream.work);
  for (int i = 0; i < stream.count; ++i) {
    RequestArrival& request =
        clients[static_cast<size_t>(i % stream.clients)].requests.emplace_back();
    request.time = FromSeconds(think.Draw(think_draws));
    request.service = stream.service;
    request.work = work.Draw(work_draws);
    if (i < stream.clients) request.time += stream.start;
  }
  return clients;
}

RequestTrace DrawStream(const RequestStream& stream, const Random& random) {
  RequestTrace requests;
  Random draws = random.Derive("work");
  const Sampler work(stream.work);
  const auto add = [&](Duration time, double factor) {
    RequestArrival& request = requests.emplace_back();
    request.time = stream.start + time;
    request.service = stream.service;
    request.work = work.Draw(draws) * factor;
  };
  if (!stream.phases.empty()) {
    for (const PhaseArrival& arrival : DrawPhases(stream.phases, stream.gap, random.Derive("gaps")))
      add(arrival.time, arrival.work);
    return requests;
  }
  const JobTrace arrivals = GenerateTrace(stream.count, stream.gap, {{stream.service, 1}}, random);
  for (size_t i = 0; i < arrivals.size(); ++i) add(arrivals.Time(i), 1);
  return requests;
}

Random RequestDraws(const ExperimentConfig& config, int trial) {
  return Random(config.seed).Derive("requests").Derive(std::to_string(trial));
}

std::vector<ClientScript> DrawClients(const ExperimentConfig& config, int trial) {
  std::vector<ClientScript> clients;
  const Random random = RequestDraws(config, trial);
  for (size_t i = 0; i < config.trace.requests.size(); ++i) {
    const RequestStream& stream = config.trace.requests[i];
    if (stream.clients > 0)
      std::ranges::move(DrawClients(stream, random.Derive(std::to_string(i))),
                        std::back_inserter(clients));
  }
  return clients;
}

RequestTrace DrawRequests(const ExperimentConfig& config, int trial) {
  RequestTrace requests = config.trace.replay_requests;
  const Random random = RequestDraws(config, trial);
  for (size_t i = 0; i < config.trace.requests.size(); ++i) {
    if (config.trace.requests[i].clients > 0) continue;
    RequestTrace stream = DrawStream(config.trace.requests[i], random.Derive(std::to_string(i)));
    std::move(stream.begin(), stream.end(), std::back_inserter(requests));
  }
  std::stable_sort(
      requests.begin(), requests.end(),
      [](const RequestArrival& a, const RequestArrival& b) { return a.time < b.time; });
  return requests;
}

std::optional<OpenRange> OpenRangeOf(const TenantSpec& spec) {
  if (!spec.IsPipeline()) return {};
  return OpenRange{.at_start = spec.pipeline.open.open, .most = spec.pipeline.open.open_max};
}

}  // namespace

bool HasClients(const Plan& plan) {
  return std::any_of(plan.clients.begin(), plan.clients.end(),
                     [](const auto& of_trial) { return !of_trial.empty(); });
}

size_t RequestsOf(const Plan& plan, size_t trial) {
  size_t count = plan.requests[trial].size();
  for (const ClientScript& client : plan.clients[trial]) count += client.requests.size();
  return count;
}

Plan MakePlan(const ExperimentConfig& config) {
  Plan plan;
  const Random blocks = Random(config.seed).Derive("order of cells");
  for (int trial = 1; trial <= config.trials; ++trial) {
    plan.traces.push_back(DrawTrace(config, trial));
    plan.requests.push_back(DrawRequests(config, trial));
    plan.clients.push_back(DrawClients(config, trial));
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

CellJobs::CellJobs(const ExperimentConfig& config, Elasticity elasticity, int trial)
    : config_(config),
      elasticity_(elasticity),
      seeds_(Random(config.seed).Derive("job").Derive(std::to_string(trial))) {
  int64_t first = 0, services = 0;
  for (const WorkloadConfig& workload : config.workloads) {
    Common& common = common_.emplace_back();
    common.workload = &workload;
    common.spec = workload.spec;
    if (!workload.spec.serves) continue;
    common.service = ServiceId{services++};
    common.first_instance = first;
    first += Instances(config, workload);
  }
}

CellJobs::Common& CellJobs::CommonOf(const JobArrival& arrival) {
  const auto found = std::find_if(common_.begin(), common_.end(), [&](const Common& common) {
    return common.workload->name == arrival.workload;
  });
  CHECK(found != common_.end()) << "no workload " << arrival.workload;
  return *found;
}

std::shared_ptr<const SpeedCurve> CellJobs::CurveOf(Common* common, Elasticity elasticity,
                                                    Split threads) {
  if (!config_.profile) return nullptr;
  const std::pair wanted = {elasticity, threads};
  if (common->curve_of != wanted) {
    common->curve = config_.profile->speeds->Of(ProgramName(common->spec), elasticity, threads);
    common->curve_of = wanted;
  }
  return common->curve;
}

Job CellJobs::JobOf(const JobArrival& arrival, int64_t index) {
  Common& common = CommonOf(arrival);
  const WorkloadConfig& workload = *common.workload;
  // Without a client its threads are fixed once it has started.
  const CommandChoice& command = workload.spec.command;
  const bool is_fixed = workload.spec.IsCommand() && command.client == CommandClient::kNone;
  const Elasticity elasticity =
      std::min({elasticity_, arrival.elasticity.value_or(elasticity_),
                is_fixed ? Elasticity::kMoldable : Elasticity::kMalleable});
  const CoreRequest request = RequestOf(workload, arrival);
  std::optional<int> node;
  if (workload.per_node) node = static_cast<int>(index - common.first_instance);
  const int intra = workload.threads.value_or(request.preferred);
  const int usual = workload.spec.IsPipeline() ? intra : 1;
  const Split threads{workload.inter.value_or(usual), intra};
  return {.id = {index},
          .workload = workload.name,
          .request = request,
          .elasticity = elasticity,
          .priority = arrival.priority.value_or(workload.priority),
          .threads = threads,
          .steps = arrival.steps.value_or(workload.spec.steps),
          .speed = CurveOf(&common, elasticity, threads),
          .arrival = TimePoint(arrival.time),
          .response_objective = workload.slo,
          .service = common.service,
          .open_range = OpenRangeOf(workload.spec),
          .node = node};
}

const TenantSpec& CellJobs::SpecOf(const JobArrival& arrival, int64_t index) {
  Common& common = CommonOf(arrival);
  common.spec.steps = arrival.steps.value_or(common.workload->spec.steps);
  const fmt::format_int tag(index);
  // The seed travels as JSON and as a command line's integer; both are at home below 2^63.
  common.spec.seed = seeds_.Derive({tag.data(), tag.size()}).Next() >> 1;
  return common.spec;
}

}  // namespace cosched
