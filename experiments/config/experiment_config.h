#pragma once
// An experiment file, read and checked as a whole before anything runs: keys, types, ranges, names
// of policies, models and data sets, the cores of this machine, the trace file. The struct is what
// the harness runs; every field has been checked.
//
// Which keys there are, with their defaults and ranges: `cosched list keys`, from the lists of
// experiments/config/experiment_sections.h and its neighbours.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/config/backend.h"
#include "experiments/config/dispatch_table.h"
#include "experiments/config/speed_curves.h"
#include "experiments/config/toml_table.h"
#include "experiments/config/trace_table.h"
#include "experiments/config/trials_until.h"
#include "experiments/hosts/simulation/settings.h"
#include "experiments/hosts/tenant_timeouts.h"
#include "experiments/os/actuator.h"
#include "experiments/records/records_config.h"
#include "experiments/wire/memory_mode.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/external/external_policy.h"
#include "policies/registry.h"
#include "workloads/device_profile.h"
#include "workloads/profile.h"

namespace cosched {

struct WorkloadConfig {
  std::string name;  // Default: its model.
  // Keys model, mode, dataset, data (a folder, relative to the file), batch and steps. The seed is
  // the harness's affair. mode = "serve" makes it a service: it infers, has no steps, and answers
  // at most max_batch requests at once (default: batch), fewer when the oldest has waited for
  // max_delay_ms (default: 0).
  TenantSpec spec;
  std::optional<Duration> slo;  // slo_ms, of a service: in which a request is to be answered.
  // sla_ms, of a service: what the mean response in a window is to be at most.
  std::optional<Duration> objective;
  bool per_node = false;  // Of a service: an instance on each node, with one queue.
  // Default: min 1; max = preferred where that is given, else all cores of the experiment;
  // preferred = max.
  CoreRequest cores;
  // Threads of a rigid tenant, more than its cores if one likes: intra-op (default: preferred
  // cores) and inter-op (default: 1; of a pipeline as many).
  std::optional<int> threads, inter;
  // Key split: "policy" (default), or "auto" for spec.auto_split. Keys spin_us and deterministic:
  // of spec; the simulator has no threads that could spin or divide work.
  int priority = 0;
  double weight = 1.0;
};

// [[device]]: a modelled accelerator beside the cores, there in every cell.
struct DeviceConfig {
  std::string name;
  std::filesystem::path file;  // profile, as opened.
  std::string hash;            // FileHash of it.
  std::shared_ptr<const DeviceProfile> profile;
  int node = 0;   // On whose cores requests are decoded for it.
  int slots = 1;  // Batches that it computes at once.
  // Names of workloads with mode = "serve". Default: all whose model the profile has.
  std::vector<std::string> services;
};

// [[gate]]: what the medians of a run have to be (experiments/analysis/gates.h judges it).
struct GateConfig {
  std::string metric;  // A column of summary.csv or services.csv, or one without "_s".
  std::string policy;
  std::optional<Elasticity> elasticity;  // Default: each of the experiment's.
  std::string service;                   // Of a metric of services; "" = each of them.
  std::string against;  // A policy: limits are of the trials' ratios to it; "" = of the metric.
  std::optional<double> min, max;  // One of the two at least.

  bool operator==(const GateConfig&) const = default;
};

struct ContainerConfig {
  Client client = Client::kOn;
  Actuation actuation = Actuation::kDirect;
};

// What was measured of the programs: [machine] profile.
struct ProfileConfig {
  std::filesystem::path file;  // As opened.
  std::string hash;            // Hash of the file's bytes: FNV-1a, 64 bits, hexadecimal.
  std::shared_ptr<const Profile> profile;
  std::shared_ptr<const SpeedCurves> speeds;  // The profile's speeds, for policies.
};

struct ExperimentConfig {
  std::filesystem::path file;
  std::optional<TomlTable> written;  // The file as it was read, with its overrides.
  std::string name;
  Backend backend = Backend::kHardware;
  int trials = 3;  // Most of them, where `until` may end it before.
  std::optional<TrialsUntil> until;
  uint64_t seed = 1;
  std::vector<std::string> policies;
  // The policy that the others are compared with, named before anything ran; "" = the best, which
  // only the data tell, so that every pair counts as a comparison.
  std::string baseline;
  std::vector<Elasticity> elasticities = {Elasticity::kMalleable};
  // The machine of the experiment: this one, or with backend = "simulated" what [machine] topology
  // says (hwloc's synthetic description, or an .xml file of hwloc's). Set by LoadConfig.
  std::optional<Topology> topology;
  std::string machine;  // [machine] topology as written; "" = this machine.
  // Required with backend = "simulated"; on hardware only policies see it, as speed curves.
  std::optional<ProfileConfig> profile;
  SimulationSettings simulation;  // [simulation], for backend = "simulated".
  // [simulation] extrapolate: also on more than kMostExtrapolation times the cores that the profile
  // was measured on (experiments/config/profile_doubts.h).
  bool extrapolate = false;
  // [machine] smt = "threads": each hardware thread is a core; else one of each physical core is.
  bool threads_are_cores = false;
  // [machine] cores; "all" = what this process may use, a number = so many of them, close together.
  CpuSet cores;
  // [machine] actuator; default: cpuset where it is permitted, else affinity.
  Actuator actuator = Actuator::kAffinity;
  // [machine] memory; of no effect on cores of one NUMA node.
  MemoryMode memory = MemoryMode::kFollow;
  // [machine] kernel_rates: of all tenants; default: this machine's. Simulated ones have none.
  KernelRates kernel_rates;
  // They are yet to be measured, which --dry-run does not do. Such an experiment can't run.
  bool lacks_kernel_rates = false;
  // [machine] heartbeat_timeout_s, start_timeout_s, settle_timeout_s, revocation_deadline_ms
  TenantTimeouts timeouts;
  Duration quota_period = std::chrono::milliseconds(100);  // [machine] quota_period_ms
  int nodes = 1;  // [machine] nodes: equal parts of the cores, within which shares are granted.
  ServicesConfig services;
  ContainerConfig container;  // [container], for backend = "container".
  Duration sample_period = std::chrono::milliseconds(100);  // [sampling] period_ms
  bool interference = false;  // [sampling] interference: who made whose threads wait.
  RecordsConfig records;      // [records] grants, decisions, …: what is written.
  TraceConfig trace;
  std::vector<WorkloadConfig> workloads;
  std::vector<DeviceConfig> devices;
  std::vector<GateConfig> gates;
  DispatchTables dispatch;
  std::map<std::string, PolicyParameters, std::less<>> policy_parameters;  // [policy.<name>]

  // [policy.<name>] with library or exec.
  std::map<std::string, std::shared_ptr<const ExternalPolicy>, std::less<>> external_policies;

  const WorkloadConfig* FindWorkload(std::string_view workload) const;
  bool HasServices() const;
  // A registered or an external one; nullptr if there is none of that name.
  const PolicyInfo* FindPolicy(std::string_view policy) const;
  std::string PolicyNames() const;  // For messages.
  std::unique_ptr<Policy> NewPolicy(std::string_view policy) const;
};

// Only the [[workload]] tables of a file, whatever machine and profile the rest asks for: what
// `cosched calibrate` measures, of a service its program with full batches and with one request:
// what lies between is interpolated. Throws InputError.
std::vector<WorkloadConfig> LoadWorkloads(const TomlTable& root);

// The experiment of a file with its overrides; `here` is this machine. [sweep] and [quick] are read
// by experiments/config/sweep.h. Throws InputError.
ExperimentConfig LoadConfig(const TomlTable& root, const Topology& here);
ExperimentConfig LoadConfig(const std::filesystem::path& file,
                            const std::vector<std::string>& overrides, const Topology& here);

// What a job of this arrival asks for: the workload's own request with the arrival's replacements.
CoreRequest RequestOf(const WorkloadConfig& workload, const JobArrival& arrival);

// The first thing that is wrong with a request; nullopt if nothing is.
struct CoreRequestProblem {
  std::string column;  // "min", "preferred" or "max".
  std::string problem;
  std::string allowed;
};
std::optional<CoreRequestProblem> CheckRequest(const CoreRequest& request, int machine_cores);

}  // namespace cosched
