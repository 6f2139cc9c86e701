#include "experiments/config/experiment_sections.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/did_you_mean.h"
#include "engine/base/read_number.h"
#include "experiments/config/cluster_table.h"
#include "experiments/config/device_table.h"
#include "experiments/config/dispatch_table.h"
#include "experiments/config/experiment_json.h"
#include "experiments/config/gate_table.h"
#include "experiments/config/machine_table.h"
#include "experiments/config/names.h"
#include "experiments/config/not_here_error.h"
#include "experiments/config/trace_table.h"
#include "experiments/config/workload_table.h"
#include "experiments/hosts/podman.h"
#include "experiments/hosts/slurm_allocation.h"

namespace cosched {
namespace {

using C = ExperimentConfig;
using ConfigKey = SectionKey<ExperimentConfig>;
using Json = nlohmann::ordered_json;

constexpr std::string_view kMicroseconds = " us";
constexpr int kMaxPeriodMilliseconds = 86'400'000;  // A day: simulated runs can be long.

Backend ReadBackend(const TomlTable& root) {
  const std::string text = root.String("backend", "hardware");
  const std::optional<Backend> backend = ParseBackend(text);
  if (!backend)
    root.Fail("backend", fmt::format("is \"{}\"", text), "hardware, container, slurm, simulated");
  if (const std::string why_not = WhyNoSlurmAllocation();
      backend == Backend::kSlurm && !why_not.empty()) {
    FailHere(root, "backend", "is \"slurm\", which is not possible here: " + why_not,
             "slurm in a job of several nodes (salloc, sbatch); hardware");
  }
  if (backend != Backend::kContainer) return *backend;
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) {
    FailHere(root, "backend", "is \"container\", which is not possible here: " + why_not,
             "hardware, or what is missing (see `cosched doctor`)");
  }
  return *backend;
}

std::vector<std::string> ReadPolicies(const TomlTable& root, const ExperimentConfig& config) {
  const std::string names = config.PolicyNames();
  std::vector<std::string> policies = root.Strings("policies");
  if (policies.empty()) root.Fail("policies", "is empty", "one or more of " + names);
  for (size_t i = 0; i < policies.size(); ++i) {
    const PolicyInfo* info = config.FindPolicy(policies[i]);
    const std::string key = fmt::format("policies.{}", i);
    if (!info)
      root.Fail(
          key,
          fmt::format("there is no policy \"{}\"", policies[i]) + DidYouMean(policies[i], names),
          names);
    if (info->needs_speed && !root.Table("machine").Has("profile")) {
      root.Fail(key, fmt::format("\"{}\" goes by how fast the jobs run", policies[i]),
                "machine.profile = \"FILE\" beside it, made by `cosched calibrate`");
    }
  }
  RefuseRepeated(root, "policies", policies);
  return policies;
}

// May be one that does not run now (--policy): it is then compared with nobody.
std::string ReadBaseline(const TomlTable& root, const ExperimentConfig& config) {
  std::string baseline = root.String("baseline", "");
  if (!baseline.empty() && config.FindPolicy(baseline) == nullptr)
    root.Fail("baseline",
              fmt::format("there is no policy \"{}\"", baseline) +
                  DidYouMean(baseline, config.PolicyNames()),
              config.PolicyNames());
  return baseline;
}

std::vector<Elasticity> ReadElasticities(const TomlTable& root) {
  const std::vector<std::string> names =
      root.Strings("elasticity", std::vector<std::string>{"malleable"});
  if (names.empty())
    root.Fail("elasticity", "is empty", "one or more of rigid, moldable, malleable");
  std::vector<Elasticity> elasticities(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!ParseElasticity(names[i], &elasticities[i])) {
      root.Fail(fmt::format("elasticity.{}", i), fmt::format("is \"{}\"", names[i]),
                "rigid, moldable, malleable");
    }
  }
  RefuseRepeated(root, "elasticity", names);
  return elasticities;
}

std::string TrialsRange() { return fmt::format("1 to {}, or until METRIC ± P %", kMaxCount); }

void ReadTrials(const ConfigKey& key, const TomlTable& root, C* config) {
  if (root.IsString(key.help.name)) {
    const std::string text = root.String(key.help.name);
    config->until = ParseTrialsUntil(text);
    if (!config->until) {
      root.Fail(key.help.name, fmt::format("is \"{}\"", text),
                fmt::format("an integer from 1 to {}, or text such as \"until makespan ± 2 %\"",
                            kMaxCount));
    }
    return;
  }
  config->trials = static_cast<int>(root.Integer(key.help.name, config->trials, 1, kMaxCount));
}

// Of no effect on a number of trials, which --trials or [quick] may have set.
void ReadMostTrials(const ConfigKey& key, const TomlTable& root, C* config) {
  const int64_t most =
      root.Integer(key.help.name, kUsualMostTrials, kFewestSequentialTrials, kMaxCount);
  if (config->until) config->trials = static_cast<int>(most);
}

void ReadCharge(const ConfigKey& key, const TomlTable& table, C* config) {
  SimulationSettings& settings = config->simulation;
  if (table.IsInteger(key.help.name)) {
    settings.charge = SimulationSettings::Charge::kFixed;
    settings.fixed_charge =
        std::chrono::microseconds(table.Integer(key.help.name, {}, 0, kMaxCount));
    return;
  }
  const std::string charge = table.String(key.help.name, "measured");
  if (charge.ends_with(kMicroseconds)) {  // As the manifest has it.
    const std::string_view number(charge.data(), charge.size() - kMicroseconds.size());
    if (const std::optional<int> count = ReadNumber<int>(number, 0, kMaxCount)) {
      settings.charge = SimulationSettings::Charge::kFixed;
      settings.fixed_charge = std::chrono::microseconds(*count);
      return;
    }
  }
  if (charge != "measured" && charge != "none")
    table.Fail(key.help.name, fmt::format("is \"{}\"", charge), key.help.range);
  settings.charge =
      charge == "none" ? SimulationSettings::Charge::kNone : SimulationSettings::Charge::kMeasured;
}

std::string ChargeText(const C& config) {
  const SimulationSettings& settings = config.simulation;
  switch (settings.charge) {
    case SimulationSettings::Charge::kMeasured: return "measured";
    case SimulationSettings::Charge::kNone: return "none";
    case SimulationSettings::Charge::kFixed:
      return fmt::format("{}{}", settings.fixed_charge / std::chrono::microseconds(1),
                         kMicroseconds);
  }
  return "";
}

void ReadCluster(const ConfigKey& key, const TomlTable& table, C* config) {
  if (table.Has(key.help.name))
    ClusterSection().Read(table.Table(key.help.name), &config->simulation.cluster.emplace());
}

Json ClusterJson(const C& config) {
  const std::optional<ClusterSettings>& cluster = config.simulation.cluster;
  return cluster ? ClusterSection().ToJson(*cluster) : Json();
}

// A table inside the file. read: null where LoadConfig does it.
ConfigKey Inner(std::string name, std::string meaning, ConfigKey::Reader read,
                ConfigKey::Recorder record, std::string range = "its own keys") {
  return ConfigKey::Read({.name = std::move(name),
                          .type = "table",
                          .fallback = "none",
                          .range = std::move(range),
                          .meaning = std::move(meaning)},
                         std::move(read), std::move(record));
}

// Reads into the configuration itself, or into a part of it.
template <typename Owner, typename Part>
ConfigKey::Reader ReadInto(const Section<Owner>& (*section)(), Part part) {
  return [=](const ConfigKey& key, const TomlTable& root, C* config) {
    section().Read(root.Table(key.help.name), &part(config));
  };
}

C& Whole(C* config) { return *config; }

std::vector<ConfigKey> HeadKeys() {
  return {ConfigKey::Read(
              {.name = "name",
               .type = "text",
               .fallback = "required",
               .range = NameRange(),
               .meaning = "results go to DIR/<name>/"},
              [](const ConfigKey&, const TomlTable& root, C* config) {
                config->name = ReadName(root, {});
              },
              [](const C& config) { return config.name; }),
          ConfigKey::Read(
              {.name = "backend",
               .type = "word",
               .fallback = {},
               .range = "hardware, container, slurm, simulated",
               .meaning = "where tenants run"},
              [](const ConfigKey&, const TomlTable& root, C* config) {
                config->backend = ReadBackend(root);
              },
              [](const C& config) { return ToString(config.backend); }),
          ConfigKey::Read({.name = "trials",
                           .type = "integer, text",
                           .fallback = {},
                           .range = TrialsRange(),
                           .meaning = "repetitions, each with a trace of its own; or until an "
                                      "interval is narrow enough"},
                          ReadTrials,
                          [](const C& config) -> Json {
                            return config.until ? Json(ToString(*config.until))
                                                : Json(config.trials);
                          }),
          ConfigKey::Read(
              {.name = "most_trials",
               .type = "integer",
               .fallback = std::to_string(kUsualMostTrials),
               .range = IntegerRange(kFewestSequentialTrials, kMaxCount),
               .meaning = "where trials go on until …: at most so many"},
              ReadMostTrials,
              [](const C& config) -> Json { return config.until ? Json(config.trials) : Json(); })
              .OmittedWhereAbsent(),
          ConfigKey::Integer("seed", &C::seed, 0, INT64_MAX, "of traces, order of cells and jobs"),
          ConfigKey::Read(
              {.name = "policies",
               .type = "list",
               .fallback = "required",
               .range = "names of `cosched list policies`, or of [policy.NAME]",
               .meaning = "what is compared"},
              [](const ConfigKey&, const TomlTable& root, C* config) {
                config->policies = ReadPolicies(root, *config);
              },
              [](const C& config) { return config.policies; }),
          ConfigKey::Read(
              {.name = "baseline",
               .type = "text",
               .fallback = "the best",
               .range = "a policy",
               .meaning = "the one that the others are compared with"},
              [](const ConfigKey&, const TomlTable& root, C* config) {
                config->baseline = ReadBaseline(root, *config);
              },
              [](const C& config) { return config.baseline; }),
          ConfigKey::Read(
              {.name = "elasticity",
               .type = "list",
               .fallback = {},
               .range = "rigid, moldable, malleable",
               .meaning = "of all jobs; each is run"},
              [](const ConfigKey&, const TomlTable& root, C* config) {
                config->elasticities = ReadElasticities(root);
              },
              [](const C& config) {
                Json words = Json::array();
                for (const Elasticity one : config.elasticities) words.push_back(ToString(one));
                return words;
              })};
}

std::vector<ConfigKey> TableKeys() {
  return {Inner("machine", "where tenants run", ReadInto(&MachineSection, Whole),
                [](const C& config) { return MachineSection().ToJson(config); }),
          Inner("container", "with backend = \"container\"",
                ReadInto(&ContainerSection,
                         [](C* config) -> ContainerConfig& { return config->container; }),
                [](const C& config) { return ContainerSection().ToJson(config.container); }),
          Inner("services", "of all services",
                ReadInto(&ServicesSection,
                         [](C* config) -> ServicesConfig& { return config->services; }),
                [](const C& config) -> Json {
                  if (!config.HasServices()) return {};
                  return ServicesSection().ToJson(config.services);
                })
              .OmittedWhereAbsent(),
          Inner("sampling", "how often tenants are looked at", ReadInto(&SamplingSection, Whole),
                [](const C& config) { return SamplingSection().ToJson(config); }),
          Inner(
              "records", "which files are written",
              [](const ConfigKey& key, const TomlTable& root, C* config) {
                const TomlTable table = root.Table(key.help.name);
                RecordsSection().Read(table, &config->records);
                config->records.samples_by_default = !table.Has("samples");
                config->records.steps_by_default = !table.Has("steps");
              },
              [](const C& config) { return RecordsSection().ToJson(config.records); }),
          Inner("trace", "what arrives when", nullptr,
                [](const C& config) { return TraceSection().ToJson(config.trace); }),
          Inner("workload", "one or more [[workload]]: the programs", nullptr,
                [](const C& config) {
                  Json workloads = Json::array();
                  for (const WorkloadConfig& workload : config.workloads)
                    workloads.push_back(WorkloadSection().ToJson(workload));
                  return workloads;
                })
              .Default("required"),
          Inner("device", "any number of [[device]]: modelled accelerators", nullptr,
                [](const C& config) {
                  Json devices;  // Null where there is none.
                  for (const DeviceConfig& device : config.devices)
                    devices.push_back(DeviceSection().ToJson(device));
                  return devices;
                })
              .OmittedWhereAbsent(),
          Inner("gate", "any number of [[gate]]: what the results have to be", nullptr,
                [](const C& config) {
                  Json gates;  // Null where there is none.
                  for (const GateConfig& gate : config.gates)
                    gates.push_back(GateSection().ToJson(gate));
                  return gates;
                })
              .OmittedWhereAbsent(),
          Inner("dispatch", "parameters of dispatches, [dispatch.NAME]", nullptr,
                [](const C& config) { return DispatchGivenJson(config); })
              .OmittedWhereAbsent(),
          Inner("policy", "parameters of policies, [policy.NAME]", nullptr, ParametersJson),
          Inner("simulation", "with backend = \"simulated\": parts of the model",
                ReadInto(&SimulationSection, Whole),
                [](const C& config) { return SimulationSection().ToJson(config); })
              .NotInManifest(),
          Inner("sweep", "each combination of the values is a point", nullptr, nullptr,
                "any KEY = [values]"),
          Inner("quick", "what --quick sets", nullptr, nullptr, "any KEY = value"),
          Inner("figure", "what `cosched reproduce` does with it", nullptr, nullptr)};
}

}  // namespace

const Section<ExperimentConfig>& RootSection() {
  static const Section<ExperimentConfig> section("", "above all tables",
                                                 Joined({HeadKeys(), TableKeys()}));
  return section;
}

const Section<ContainerConfig>& ContainerSection() {
  using Key = SectionKey<ContainerConfig>;
  static const Section<ContainerConfig> section(
      "[container]", "with backend = \"container\"",
      {Key::Choice("client", &ContainerConfig::client,
                   std::vector{Client::kOn, Client::kOff, Client::kHalving},
                   "whether tenants hear of their cores; halving: the published protocol"),
       Key::Choice("actuation", &ContainerConfig::actuation,
                   std::vector{Actuation::kDirect, Actuation::kRuntime},
                   "one write by the host, or the container runtime's own update")});
  return section;
}

const Section<ExperimentConfig>& SamplingSection() {
  static const Section<ExperimentConfig> section(
      "[sampling]", "how often tenants are looked at",
      {ConfigKey::Integer("period_ms", &C::sample_period, 1, kMaxPeriodMilliseconds,
                          "between two samples of all tenants", std::chrono::milliseconds(1)),
       ConfigKey::Boolean("interference", &C::interference,
                          "also who made whose threads wait; not simulated")});
  return section;
}

const Section<RecordsConfig>& RecordsSection() {
  using Key = SectionKey<RecordsConfig>;
  using R = RecordsConfig;
  static const Section<RecordsConfig> section(
      "[records]", "which files of a cell are written; jobs.csv and cell.json always are",
      {Key::Boolean("grants", &R::grants, "grants.csv: who owns which core"),
       Key::Boolean("decisions", &R::decisions, "decisions.csv: every answer of the policy"),
       Key::Boolean("samples", &R::samples, "samples.csv: every tenant at every sampling instant"),
       Key::Boolean("steps", &R::steps, "steps.csv: every step of every tenant"),
       Key::Boolean("resizes", &R::resizes, "resizes.csv: every resize of a tenant's pools"),
       Key::Boolean("actuations", &R::actuations,
                    "actuations.csv and memory.csv: how the host moved a tenant"),
       Key::Boolean("timeline", &R::timeline, "timeline.json: all of it, for Perfetto"),
       Key::EitherWord("compress", &R::gzip, "none", "gzip", "packs all but cell.json"),
       Key::Boolean("requests", &R::requests, "requests.csv: every request to a service")
           .NotInManifest()});
  return section;
}

const Section<ExperimentConfig>& SimulationSection() {
  using S = SimulationSettings;
  static const Section<ExperimentConfig> section(
      "[simulation]", "with backend = \"simulated\": parts of the model",
      {ConfigKey::Recorded("topology",
                           [](const C& config) {
                             return config.machine.empty() ? "this machine" : config.machine;
                           }),
       ConfigKey::Recorded("machine", [](const C& config) { return config.topology->Summary(); }),
       ConfigKey::Boolean("contention", Inside(&C::simulation, &S::contention),
                          "tenants slow each other down, as was measured"),
       ConfigKey::Boolean("oversubscription", Inside(&C::simulation, &S::oversubscription),
                          "more threads than cores cost what was measured"),
       ConfigKey::Boolean("startup", Inside(&C::simulation, &S::startup),
                          "programs take time to start, warm up and stop"),
       ConfigKey::Boolean("resize_delay", Inside(&C::simulation, &S::resize_delay),
                          "resizes take as long as was measured"),
       ConfigKey::Boolean("numa", Inside(&C::simulation, &S::numa),
                          "memory that is far, or moved, costs what was measured"),
       ConfigKey::Read({.name = "charge_decisions",
                        .type = "word, integer",
                        .fallback = "\"measured\"",
                        .range = fmt::format("measured, none, or 0 to {} microseconds", kMaxCount),
                        .meaning = "what a decision's own time costs"},
                       ReadCharge, [](const C& config) { return ChargeText(config); }),
       ConfigKey::Number("noise", Inside(&C::simulation, &S::noise), 0, 1,
                         "of a job's step time: standard deviation of its logarithm"),
       ConfigKey::Read({.name = "cluster",
                        .type = "table",
                        .fallback = "none",
                        .range = "its own keys",
                        .meaning = "machines that the only workload, a pipeline, has for itself"},
                       ReadCluster, ClusterJson)
           .OmittedWhereAbsent(),
       ConfigKey::Boolean("extrapolate", &C::extrapolate,
                          "also beyond 4 times the cores that the profile was measured on")});
  return section;
}

}  // namespace cosched
