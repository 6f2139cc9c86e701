#include "experiments/config/experiment_checks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/mpi/mpi_link.h"
#include "experiments/config/cluster_table.h"
#include "experiments/config/not_here_error.h"
#include "experiments/hosts/slurm_allocation.h"
#include "experiments/os/find_program.h"
#include "experiments/wire/chaos_plan.h"

namespace cosched {
namespace {

// Of a pipeline, what calls of each of its stages cost.
void CheckStages(const TomlTable& workload, const ExperimentConfig& config,
                 const TenantSpec& spec) {
  std::vector<std::string> measured;
  for (const StageProfile& stage : config.profile->profile->Find(ProgramName(spec))->stages)
    measured.push_back(stage.stage);
  const std::vector<std::string> stages = PipelineStages(spec.pipeline);
  if (measured == stages) return;
  workload.Fail(
      "pipeline",
      fmt::format(
          "{} has {} of \"{}\"", config.profile->file.string(),
          measured.empty() ? "no stages" : fmt::format("the stages {}", fmt::join(measured, ", ")),
          ProgramName(spec)),
      fmt::format("a profile with {}", fmt::join(stages, ", ")));
}

// What a simulated run can't do without: every workload's program.
void CheckPrograms(const TomlTable& root, const ExperimentConfig& config) {
  const Profile& profile = *config.profile->profile;
  std::vector<std::string_view> programs;
  for (const ProgramProfile& program : profile.programs) programs.push_back(program.program);
  const std::vector<TomlTable> tables = root.Tables("workload");
  for (size_t i = 0; i < tables.size(); ++i) {
    const TenantSpec& spec = config.workloads[i].spec;
    if (IsChaosModel(spec.model)) continue;
    if (profile.Find(ProgramName(spec))) {
      if (spec.IsPipeline()) CheckStages(tables[i], config, spec);
      continue;
    }
    tables[i].Fail(
        spec.IsPipeline() ? "pipeline" : "model",
        fmt::format("{} holds no \"{}\"", config.profile->file.string(), ProgramName(spec)),
        programs.empty() ? "a profile that holds it"
                         : fmt::format("{}", fmt::join(programs, ", ")));
  }
}

// What records and samples need of each other.
void CheckRecords(const TomlTable& root, const ExperimentConfig& config) {
  const bool simulated = config.backend == Backend::kSimulated;
  if (config.interference && simulated)
    root.Fail("sampling.interference",
              "is true, but the simulator has no threads that wait for threads",
              "false with backend = \"simulated\"");
  if (simulated && config.records.steps && !config.records.samples) {
    root.Fail("records.steps", "is true without samples, by which the simulator counts them",
              "false where samples = false");
  }
  if (config.interference && !config.records.samples)
    root.Fail("sampling.interference", "needs samples", "only with records.samples = true");
}

// What can't be done with services.
void CheckServices(const TomlTable& root, const ExperimentConfig& config) {
  for (size_t i = 0; config.HasServices() && i < config.policies.size(); ++i) {
    if (!config.FindPolicy(config.policies[i])->needs_size) continue;
    root.Fail(
        fmt::format("policies.{}", i),
        fmt::format("\"{}\" goes by how much the jobs have to do, which nobody knows of a service",
                    config.policies[i]),
        "another policy where a workload has mode = \"serve\"");
  }
}

// Policies that go by objectives need those of every service.
void CheckObjectives(const TomlTable& root, const ExperimentConfig& config) {
  const auto without =
      std::find_if(config.workloads.begin(), config.workloads.end(),
                   [](const WorkloadConfig& one) { return one.spec.serves && !one.objective; });
  if (without == config.workloads.end()) return;
  for (size_t i = 0; i < config.policies.size(); ++i) {
    if (!config.FindPolicy(config.policies[i])->needs_objective) continue;
    root.Fail(fmt::format("policies.{}", i),
              fmt::format("\"{}\" goes by the mean response that is wanted, but \"{}\" has none",
                          config.policies[i], without->name),
              "sla_ms of every service");
  }
}

void CheckNodes(const TomlTable& root, const ExperimentConfig& config) {
  const int cores = config.cores.Count();
  if (cores % config.nodes == 0) return;
  root.Table("machine").Fail(
      "nodes", fmt::format("{} cores cannot be divided into {} equal parts", cores, config.nodes),
      "a divisor of the number of cores");
}

// A process is on one node, and stays there. Only policies that grant shares know of nodes: others
// can be kept from giving a job more cores than a node has.
void CheckJobsFitNodes(const TomlTable& root, const ExperimentConfig& config) {
  const int cores = config.cores.Count() / config.nodes;
  const std::vector<TomlTable> tables = root.Tables("workload");
  for (const std::string& policy : config.policies) {
    if (config.nodes == 1 || config.FindPolicy(policy)->shares) continue;
    for (size_t i = 0; i < tables.size(); ++i) {
      const int most = config.workloads[i].cores.max;
      if (most <= cores) continue;
      FailOfMachine(config.topology->IsThisSystem(), tables[i], "cores.max",
                    fmt::format("{} may give it {} cores, but a node has {}", policy, most, cores),
                    fmt::format("max = {} or less with backend = \"slurm\", or policies that "
                                "grant shares, such as static-shares",
                                cores));
    }
  }
}

void CheckSlurm(const TomlTable& root, const ExperimentConfig& config) {
  if (config.backend != Backend::kSlurm) return;
  if (!config.devices.empty()) {
    root.Tables("device").front().Fail("name", "is a device, of which the nodes have none",
                                       "no [[device]] with backend = \"slurm\"");
  }
  CheckJobsFitNodes(root, config);
  size_t nodes = 0;
  try {
    nodes = NodesOfAllocation().size();
  } catch (const std::runtime_error& error) {
    root.Fail("backend", fmt::format("is \"slurm\", but {}", error.what()),
              "a Slurm that tells the names of this job's nodes");
  }
  if (nodes >= static_cast<size_t>(config.nodes)) return;
  root.Table("machine").Fail("nodes",
                             fmt::format("is {}, but this Slurm job has {}", config.nodes, nodes),
                             fmt::format("at most {}, or a job with more nodes", nodes));
}

// Only those that grant shares know of nodes.
void CheckInstances(const TomlTable& root, const ExperimentConfig& config) {
  const auto service = std::find_if(config.workloads.begin(), config.workloads.end(),
                                    [](const WorkloadConfig& one) { return one.per_node; });
  if (config.nodes == 1 || service == config.workloads.end()) return;
  for (size_t i = 0; i < config.policies.size(); ++i) {
    if (config.FindPolicy(config.policies[i])->shares) continue;
    root.Fail(fmt::format("policies.{}", i),
              fmt::format("\"{}\" knows nothing of nodes, each of which has its own \"{}\"",
                          config.policies[i], service->name),
              "policies that grant shares, such as static-shares, where per_node = true");
  }
}

// Shares of real cores are quotas.
void CheckShares(const TomlTable& root, const ExperimentConfig& config, const Topology& topology) {
  const bool is_real = config.backend == Backend::kHardware || config.backend == Backend::kSlurm;
  if (!is_real || !topology.IsThisSystem()) return;
  for (size_t i = 0; i < config.policies.size(); ++i) {
    if (!config.FindPolicy(config.policies[i])->shares) continue;
    const std::string why_not = WhyNot(Actuator::kQuota);
    if (why_not.empty()) return;
    FailHere(root, fmt::format("policies.{}", i),
             fmt::format("\"{}\" grants shares of cores, for which no quota is permitted here: {}",
                         config.policies[i], why_not),
             "what `cosched doctor` names as the remedy, or backend = \"simulated\"");
  }
}

// Policies that go by speed need that of every program.
void CheckSpeeds(const TomlTable& root, const ExperimentConfig& config) {
  for (size_t i = 0; i < config.policies.size(); ++i) {
    if (!config.FindPolicy(config.policies[i])->needs_speed) continue;
    for (const WorkloadConfig& workload : config.workloads) {
      if (config.profile->profile->Find(ProgramName(workload.spec))) continue;
      root.Fail(fmt::format("policies.{}", i),
                fmt::format("\"{}\" goes by how fast the jobs run, but {} holds no \"{}\"",
                            config.policies[i], config.profile->file.string(),
                            ProgramName(workload.spec)),
                "a machine.profile that holds every workload's program");
    }
  }
}

// What keeps a workload from having ranks, each a process that mpirun starts and that follows its
// part of a grant; "" = nothing. And what it would need instead.
std::pair<std::string, std::string> WhyNoRanks(const ExperimentConfig& config,
                                               const WorkloadConfig& workload) {
  const PipelineChoice& pipeline = workload.spec.pipeline;
  if (config.backend != Backend::kHardware)
    return {fmt::format("with backend = \"{}\" a tenant is one process", ToString(config.backend)),
            "1, or backend = \"hardware\""};
  if (!PipelineTravels(pipeline))
    return {fmt::format("what the stages of \"{}\" take can't be sent to other processes",
                        PipelineProgramName(pipeline)),
            "1, or align-sort, or increment with work_ms"};
  const bool all_malleable = std::ranges::all_of(
      config.elasticities, [](Elasticity one) { return one == Elasticity::kMalleable; });
  if (!all_malleable)
    return {"only a malleable tenant divides its cores among its ranks",
            "1, or elasticity = [\"malleable\"]"};
  if (workload.spec.auto_split)
    return {"a tenant with ranks does not find its split itself", "1, or split = \"policy\""};
  const bool shares = std::ranges::any_of(
      config.policies, [&](const auto& policy) { return config.FindPolicy(policy)->shares; });
  if (shares || config.actuator == Actuator::kQuota)
    return {"parts of a core's time can't be divided among ranks",
            "1, or neither policies that grant shares nor actuator = \"quota\""};
  if (pipeline.ranks > workload.cores.max)
    return {fmt::format("it has {} cores at most, one a rank", workload.cores.max),
            "cores.max or less"};
  if (!HasMpi()) return {"this build of cosched lacked Open MPI", "1, or a build that has it"};
  if (FindProgram("mpirun").empty())
    return {"there is no mpirun here", "1, or a machine that has it (Debian: openmpi-bin)"};
  return {};
}

void CheckRanks(const TomlTable& root, const ExperimentConfig& config) {
  const std::vector<TomlTable> tables = root.Tables("workload");
  for (size_t i = 0; i < tables.size(); ++i) {
    const int ranks = config.workloads[i].spec.pipeline.ranks;
    if (ranks == 1) continue;
    const auto [why_not, allowed] = WhyNoRanks(config, config.workloads[i]);
    if (!why_not.empty())
      tables[i].Fail("ranks", fmt::format("is {}, but {}", ranks, why_not), allowed);
  }
}

}  // namespace

void CheckExperiment(const TomlTable& root, const ExperimentConfig& config, const Topology& here) {
  CheckRecords(root, config);
  CheckServices(root, config);
  CheckRanks(root, config);
  if (config.backend == Backend::kSimulated) CheckPrograms(root, config);
  CheckCluster(root, config);
  CheckSpeeds(root, config);
  CheckNodes(root, config);
  CheckInstances(root, config);
  CheckSlurm(root, config);
  CheckObjectives(root, config);
  CheckShares(root, config, here);
}

}  // namespace cosched
