#include "experiments/config/experiment_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "experiments/config/device_table.h"
#include "experiments/config/experiment_checks.h"
#include "experiments/config/experiment_sections.h"
#include "experiments/config/gate_table.h"
#include "experiments/config/policy_tables.h"
#include "experiments/config/profile_doubts.h"
#include "experiments/config/workload_table.h"

namespace cosched {

const WorkloadConfig* ExperimentConfig::FindWorkload(std::string_view workload) const {
  const auto found =
      std::find_if(workloads.begin(), workloads.end(),
                   [workload](const WorkloadConfig& known) { return known.name == workload; });
  return found == workloads.end() ? nullptr : &*found;
}

bool ExperimentConfig::HasServices() const {
  return std::any_of(workloads.begin(), workloads.end(),
                     [](const WorkloadConfig& workload) { return workload.spec.serves; });
}

const PolicyInfo* ExperimentConfig::FindPolicy(std::string_view policy) const {
  const auto external = external_policies.find(policy);
  return external == external_policies.end() ? cosched::FindPolicy(policy)
                                             : &external->second->info;
}

std::string ExperimentConfig::PolicyNames() const {
  std::string names = cosched::PolicyNames();
  for (const auto& [name, policy] : external_policies) names += ", " + name;
  return names;
}

std::unique_ptr<Policy> ExperimentConfig::NewPolicy(std::string_view policy) const {
  const auto parameters = policy_parameters.find(policy);
  return MakePolicy(*FindPolicy(policy), parameters == policy_parameters.end()
                                             ? PolicyParameters{}
                                             : parameters->second);
}

CoreRequest RequestOf(const WorkloadConfig& workload, const JobArrival& arrival) {
  return {.min = arrival.cores_min.value_or(workload.cores.min),
          .preferred = arrival.cores_preferred.value_or(workload.cores.preferred),
          .max = arrival.cores_max.value_or(workload.cores.max)};
}

std::optional<CoreRequestProblem> CheckRequest(const CoreRequest& request, int machine_cores) {
  if (request.min < 1)
    return CoreRequestProblem{"min", fmt::format("is {}", request.min), "1 or more"};
  if (request.max > machine_cores) {
    return CoreRequestProblem{
        "max", fmt::format("is {}, more than the machine has", request.max),
        fmt::format("at most the {} cores of this experiment", machine_cores)};
  }
  constexpr const char* kOrder = "min <= preferred <= max";
  if (request.min > request.max) {
    return CoreRequestProblem{"min", fmt::format("is {}, above max, {}", request.min, request.max),
                              kOrder};
  }
  if (request.preferred < request.min || request.preferred > request.max) {
    return CoreRequestProblem{"preferred",
                              fmt::format("is {}, outside of min {} to max {}", request.preferred,
                                          request.min, request.max),
                              kOrder};
  }
  return std::nullopt;
}

std::vector<WorkloadConfig> LoadWorkloads(const TomlTable& root) {
  std::vector<WorkloadConfig> workloads = ReadWorkloads(root, WorkloadMachine());
  std::vector<WorkloadConfig> singles;
  for (WorkloadConfig& workload : workloads) {
    if (!std::exchange(workload.spec.serves, false) || workload.spec.batch == 1) continue;
    singles.push_back(workload);
    singles.back().spec.batch = 1;
  }
  workloads.insert(workloads.end(), singles.begin(), singles.end());
  return workloads;
}

ExperimentConfig LoadConfig(const TomlTable& root, const Topology& here) {
  RootSection().RefuseOthers(root);
  ExperimentConfig config;
  config.file = root.File();
  config.written = root;
  config.topology = here;
  ReadExternalPolicies(root, &config);
  RootSection().ReadListed(root, &config);
  config.workloads = ReadWorkloads(root, {.cores = config.cores.Count(),
                                          .is_here = config.topology->IsThisSystem(),
                                          .runs_programs = config.backend != Backend::kSimulated});
  for (WorkloadConfig& workload : config.workloads) workload.spec.rates = config.kernel_rates;
  config.devices = ReadDevices(root, config);
  config.gates = ReadGateTables(root, config);
  CheckExperiment(root, config, here);
  RefuseExtrapolation(root, config);
  config.trace = ReadTraceConfig(root.Table("trace"), config);
  ReadPolicyParameters(root, &config);
  config.dispatch = ReadDispatchTables(root, config);
  return config;
}

ExperimentConfig LoadConfig(const std::filesystem::path& file,
                            const std::vector<std::string>& overrides, const Topology& here) {
  return LoadConfig(TomlTable::Load(file, overrides), here);
}

}  // namespace cosched
