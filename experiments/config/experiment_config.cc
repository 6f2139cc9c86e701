#include "experiments/config/experiment_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "experiments/config/distribution_table.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/policy_tables.h"
#include "experiments/config/profile_doubts.h"
#include "experiments/config/toml_table.h"
#include "experiments/hosts/podman.h"
#include "experiments/wire/chaos_plan.h"
#include "policies/placement.h"
#include "workloads/dataset.h"
#include "workloads/model.h"
#include "workloads/model_from_file.h"

namespace cosched {
namespace {

constexpr int kMaxCount = 1'000'000;
constexpr int kMaxNameLength = 100;
constexpr int kMaxThreads = 1024;  // Of one pool of a tenant.
constexpr int kMaxDelayMilliseconds = 1000;
constexpr int kMaxPeriodMilliseconds = 86'400'000;  // A day: simulated runs can be long.

// Names become folders and CSV cells.
std::string Name(const TomlTable& table, const TomlTable::OptionalString& fallback) {
  std::string name = table.String("name", fallback);
  const bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  });
  if (name.empty() || name.size() > kMaxNameLength || name.front() == '.' || !plain) {
    table.Fail("name", fmt::format("is \"{}\"", name),
               fmt::format("1 to {} letters, digits, '-', '_' and '.', the first not a '.'",
                           kMaxNameLength));
  }
  return name;
}

void RefuseRepeated(const TomlTable& table, const std::string& key,
                    const std::vector<std::string>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::find(values.begin(), values.begin() + i, values[i]) != values.begin() + i) {
      table.Fail(fmt::format("{}.{}", key, i), fmt::format("\"{}\" is listed twice", values[i]),
                 "each once");
    }
  }
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
  const std::string baseline = root.String("baseline", "");
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

CpuSet ReadCores(const TomlTable& machine, const Topology& topology) {
  machine.AllowOnly(
      {"cores", "actuator", "revocation_deadline_ms", "topology", "profile", "kernel_rates"});
  if (machine.IsInteger("cores")) {
    const int64_t count = machine.Integer("cores", {}, 1, topology.Cpus().Count());
    return Place(topology, {}, topology.Cpus(), static_cast<int>(count));
  }
  const std::string text = machine.String("cores", "all");
  if (text == "all") return topology.Cpus();
  const std::string here =
      fmt::format("\"all\", or cores of this machine: {}", topology.Cpus().ToString());
  const std::optional<CpuSet> cores = CpuSet::Parse(text);
  if (!cores || cores->Empty()) machine.Fail("cores", fmt::format("is \"{}\"", text), here);
  if (!topology.Cpus().Contains(*cores)) {
    machine.Fail("cores",
                 fmt::format("is \"{}\", but {} is not there, or not ours to use", text,
                             (*cores - topology.Cpus()).ToString()),
                 here);
  }
  return *cores;
}

ContainerConfig ReadContainer(const TomlTable& table) {
  table.AllowOnly({"client", "actuation"});
  ContainerConfig container;
  const std::string client = table.String("client", "on");
  const std::string actuation = table.String("actuation", "direct");
  const auto known_client = ParseClient(client);
  const auto known_actuation = ParseActuation(actuation);
  if (!known_client) table.Fail("client", fmt::format("is \"{}\"", client), "on, off, halving");
  if (!known_actuation)
    table.Fail("actuation", fmt::format("is \"{}\"", actuation), "direct, runtime");
  return {*known_client, *known_actuation};
}

Backend ReadBackend(const TomlTable& root) {
  const std::string text = root.String("backend", "hardware");
  const std::optional<Backend> backend = ParseBackend(text);
  if (!backend)
    root.Fail("backend", fmt::format("is \"{}\"", text), "hardware, container, simulated");
  if (backend != Backend::kContainer) return *backend;
  if (const std::string why_not = WhyNoContainers(); !why_not.empty()) {
    root.Fail("backend", "is \"container\", which is not possible here: " + why_not,
              "hardware, or what is missing (see `cosched doctor`)");
  }
  return *backend;
}

Actuator ReadActuator(const TomlTable& machine, const Topology& topology, Backend backend) {
  if (backend == Backend::kContainer) {
    const std::string text = machine.String("actuator", "cpuset");
    if (text != "cpuset" && text != "quota") {
      machine.Fail("actuator", fmt::format("is \"{}\"", text),
                   "cpuset, quota with backend = \"container\"");
    }
    return *ParseActuator(text);
  }
  if (!machine.Has("actuator") && !topology.IsThisSystem()) return Actuator::kAffinity;
  if (!machine.Has("actuator")) return BestActuator();
  const std::string text = machine.String("actuator");
  const std::optional<Actuator> actuator = ParseActuator(text);
  if (!actuator)
    machine.Fail("actuator", fmt::format("is \"{}\"", text), "cpuset, quota, affinity");
  if (backend == Backend::kSimulated) return *actuator;  // Nothing is moved by it.
  if (const std::string why_not = WhyNot(*actuator); !why_not.empty()) {
    machine.Fail("actuator",
                 fmt::format("is \"{}\", which is not permitted here: {}", text, why_not),
                 "affinity, or what `cosched doctor` names as the remedy");
  }
  return *actuator;
}

KernelRates ReadKernelRates(const TomlTable& machine, Backend backend) {
  const std::string text = machine.String("kernel_rates", kMeasuredRates);
  if (backend == Backend::kSimulated && text == kMeasuredRates) return {};  // Nothing is computed.
  const std::optional<KernelRates> rates = ChosenKernelRates(text);
  if (!rates) machine.Fail("kernel_rates", fmt::format("is \"{}\"", text), kAllowedRates);
  return *rates;
}

CoreRequest ReadRequest(const TomlTable& workload, int machine_cores) {
  const TomlTable cores = workload.Table("cores", "{ min = 1, preferred = 2, max = 4 }");
  cores.AllowOnly({"min", "preferred", "max"});
  const auto read = [&cores](const char* key, int64_t fallback) {
    return static_cast<int>(cores.Integer(key, fallback, 1, CpuSet::kMaxCpu + 1));
  };
  CoreRequest request;
  request.min = read("min", 1);
  request.max = read("max", cores.Has("preferred") ? read("preferred", 1) : machine_cores);
  request.preferred = read("preferred", request.max);
  if (const auto problem = CheckRequest(request, machine_cores)) {
    // A default that does not fit is the fault of a key that is there.
    const std::string key = cores.Has(problem->column) ? problem->column
                            : cores.Has("preferred")   ? "preferred"
                                                       : "min";
    cores.Fail(key, problem->problem, problem->allowed);
  }
  return request;
}

// Opens the data set once, so that a missing or unfitting one is told before anything runs.
void CheckDataset(const TomlTable& table, const TenantSpec& spec, const ModelInfo& model) {
  const auto dataset =
      OpenDataset(spec.dataset, spec.data_directory, model.image, model.classes, 1);
  if (dataset->ImageShape() != model.image || dataset->Classes() != model.classes) {
    table.Fail("dataset",
               fmt::format("the images of \"{}\" are not what {} takes", spec.dataset, model.name),
               "a data set of the model's image size and classes, such as procedural");
  }
}

void ReadDataset(const TomlTable& table, const std::filesystem::path& folder,
                 const ModelInfo& model, TenantSpec* spec) {
  spec->dataset = table.String("dataset", "procedural");
  if (!IsDatasetName(spec->dataset)) {
    table.Fail("dataset", fmt::format("is \"{}\"", spec->dataset), DatasetNames());
  }
  if (table.Has("data"))
    spec->data_directory = std::filesystem::absolute(folder / table.String("data")).string();
  if (spec->dataset == "procedural") return;
  if (!table.Has("data")) {
    table.Fail("data", "is required",
               fmt::format("the folder that holds the files of {}", spec->dataset));
  }
  std::error_code ignored;
  if (!std::filesystem::is_directory(spec->data_directory, ignored)) {
    table.Fail("data", fmt::format("{} is not a folder", spec->data_directory),
               fmt::format("the folder that holds the files of {}", spec->dataset));
  }
  CheckDataset(table, *spec, model);
}

// What a service has and a job has not, and the other way round.
void ReadService(const TomlTable& table, bool chaos, WorkloadConfig* workload) {
  if (chaos) table.Fail("mode", "is \"serve\", but chaos answers nobody", "train, infer");
  for (const char* key : {"steps", "weight"}) {
    if (table.Has(key)) {
      table.Fail(key, "has no meaning for a service: it answers requests until the trace is over",
                 "only with mode = \"train\" or \"infer\"");
    }
  }
  TenantSpec& spec = workload->spec;
  spec.steps = 0;
  spec.batch = static_cast<int>(table.Integer("max_batch", spec.batch, 1, kMaxCount));
  if (table.Has("batch") && table.Integer("batch", {}, 1, kMaxCount) != spec.batch) {
    table.Fail("batch",
               fmt::format("is not max_batch, {}, but of a service it is the same", spec.batch),
               "one of the two");
  }
  spec.max_delay = FromSeconds(table.Number("max_delay_ms", 0, 0, kMaxDelayMilliseconds) / 1e3);
  if (table.Has("slo_ms"))
    workload->slo = FromSeconds(table.Number("slo_ms", {}, 1e-3, kMaxPeriodMilliseconds) / 1e3);
}

void ReadPrecision(const TomlTable& table, TenantSpec* spec) {
  const std::string precision = table.String("precision", "f32");
  if (!ParsePrecision(precision, &spec->precision))
    table.Fail("precision", fmt::format("is \"{}\"", precision), "f32, bf16");
  const std::string problem = PrecisionProblem(spec->precision);
  if (!problem.empty()) table.Fail("precision", problem, "f32");
}

WorkloadConfig ReadWorkload(const TomlTable& table, const std::filesystem::path& folder,
                            int machine_cores) {
  table.AllowOnly({"name", "model", "mode", "dataset", "data", "batch", "max_batch", "max_delay_ms",
                   "precision", "deterministic", "steps", "slo_ms", "cores", "threads", "inter",
                   "split", "spin_us", "priority", "weight"});
  WorkloadConfig workload;
  workload.spec.model = WithAbsolutePath(table.String("model"), folder);
  const bool chaos = IsChaosModel(workload.spec.model);
  if (!chaos && !IsModelName(workload.spec.model)) {
    table.Fail("model",
               fmt::format("there is no model \"{}\"", workload.spec.model) +
                   DidYouMean(workload.spec.model, ModelNames()),
               ModelNames() + ", onnx:FILE, graphdef:FILE, chaos");
  }
  // A file's model is called after the file.
  const std::string model_name = IsModelFileName(workload.spec.model)
                                     ? std::filesystem::path(workload.spec.model).stem().string()
                                     : workload.spec.model;
  workload.name = Name(table, chaos ? "chaos" : model_name);
  const std::string mode = table.String("mode", "train");
  workload.spec.serves = mode == "serve";
  if (workload.spec.serves) {
    workload.spec.mode = Mode::kInfer;
  } else if (!ParseMode(mode, &workload.spec.mode)) {
    table.Fail("mode", fmt::format("is \"{}\"", mode), "train, infer, serve");
  }
  if (!chaos) {
    const auto model = table.OfFile("model", [&] { return OpenModel(workload.spec.model); });
    ReadDataset(table, folder, *model, &workload.spec);
  }
  workload.spec.batch = static_cast<int>(table.Integer("batch", 32, 1, kMaxCount));
  ReadPrecision(table, &workload.spec);
  if (workload.spec.serves) {
    ReadService(table, chaos, &workload);
  } else {
    workload.spec.steps = table.Integer("steps", 50, 1, 1'000 * int64_t{kMaxCount});
    for (const char* key : {"slo_ms", "max_batch", "max_delay_ms"}) {
      if (table.Has(key)) table.Fail(key, "is of services", "only with mode = \"serve\"");
    }
  }
  workload.cores = ReadRequest(table, machine_cores);
  if (table.Has("threads"))
    workload.threads = static_cast<int>(table.Integer("threads", {}, 1, kMaxThreads));
  workload.inter = static_cast<int>(table.Integer("inter", 1, 1, kMaxThreads));
  const std::string split = table.String("split", "policy");
  workload.spec.auto_split = split == "auto";
  if (split != "auto" && split != "policy")
    table.Fail("split", fmt::format("is \"{}\"", split), "policy, auto");
  if (workload.spec.auto_split && workload.spec.serves)
    table.Fail("split", "is \"auto\", but a service has no steps",
               "auto with mode = \"train\" or \"infer\"");
  workload.spec.deterministic = table.Boolean("deterministic", true);
  if (workload.spec.auto_split && !workload.spec.deterministic)
    table.Fail("deterministic",
               "is false, but with split = \"auto\" each split that is tried would "
               "be measured with the making of its kernels",
               "true, or split = \"policy\"");
  workload.spec.spin = std::chrono::microseconds(
      table.Integer("spin_us", kSpin / std::chrono::microseconds(1), 0, kMostSpinMicroseconds));
  workload.priority = static_cast<int>(table.Integer("priority", 0, -kMaxCount, kMaxCount));
  workload.weight = workload.spec.serves ? 0 : table.Number("weight", 1.0, 0, kMaxCount);
  return workload;
}

std::vector<WorkloadConfig> ReadWorkloads(const TomlTable& root,
                                          const std::filesystem::path& folder, int machine_cores) {
  std::vector<WorkloadConfig> workloads;
  std::set<std::string> names;
  double weights = 0;
  bool jobs = false;
  for (const TomlTable& table : root.Tables("workload")) {
    workloads.push_back(ReadWorkload(table, folder, machine_cores));
    weights += workloads.back().weight;
    jobs = jobs || !workloads.back().spec.serves;
    if (!names.insert(workloads.back().name).second) {
      table.Fail("name",
                 fmt::format("\"{}\" is the name of another workload too", workloads.back().name),
                 "a name of its own");
    }
  }
  if (workloads.empty())
    root.Fail("workload", "there is none", "one or more [[workload]], each with a model");
  if (jobs && weights <= 0)
    root.Fail("workload", "every weight is 0", "a weight above 0 for one of them");
  return workloads;
}

std::string Fnv1a(const std::string& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

// What a simulated run can't do without: every workload's program.
void CheckPrograms(const TomlTable& root, const std::string& file, const Profile& profile,
                   const ExperimentConfig& config) {
  std::vector<std::string_view> programs;
  for (const ProgramProfile& program : profile.programs) programs.push_back(program.program);
  const std::vector<TomlTable> tables = root.Tables("workload");
  for (size_t i = 0; i < tables.size(); ++i) {
    const TenantSpec& spec = config.workloads[i].spec;
    if (IsChaosModel(spec.model) || profile.Find(ProgramName(spec))) continue;
    tables[i].Fail("model", fmt::format("{} holds no \"{}\"", file, ProgramName(spec)),
                   programs.empty() ? "a profile that holds it"
                                    : fmt::format("{}", fmt::join(programs, ", ")));
  }
}

std::optional<ProfileConfig> ReadProfile(const TomlTable& root, const std::filesystem::path& folder,
                                         const ExperimentConfig& config) {
  const TomlTable machine = root.Table("machine");
  const bool simulated = config.backend == Backend::kSimulated;
  if (!machine.Has("profile")) {
    if (simulated) {
      machine.Fail("profile", "is required with backend = \"simulated\"",
                   "a profile made by `cosched calibrate`");
    }
    return std::nullopt;
  }
  ProfileConfig read{
      .file = std::filesystem::absolute(folder / machine.String("profile")).lexically_normal(),
      .hash = {},
      .profile = {},
      .speeds = {}};
  read.profile = machine.OfFile(
      "profile", [&read] { return std::make_shared<const Profile>(LoadProfile(read.file)); });
  std::ifstream stream(read.file, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  read.hash = Fnv1a(bytes.str());
  read.speeds = std::make_shared<const SpeedCurves>(read.profile, config.cores.Count());
  if (simulated) CheckPrograms(root, read.file.string(), *read.profile, config);
  return read;
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

SimulationSettings ReadSimulation(const TomlTable& table) {
  table.AllowOnly({"contention", "oversubscription", "startup", "resize_delay", "charge_decisions",
                   "noise", "extrapolate"});
  SimulationSettings settings;
  settings.contention = table.Boolean("contention", true);
  settings.oversubscription = table.Boolean("oversubscription", true);
  settings.startup = table.Boolean("startup", true);
  settings.resize_delay = table.Boolean("resize_delay", true);
  settings.noise = table.Number("noise", 0, 0, 1);
  if (table.IsInteger("charge_decisions")) {
    settings.charge = SimulationSettings::Charge::kFixed;
    settings.fixed_charge =
        std::chrono::microseconds(table.Integer("charge_decisions", {}, 0, kMaxCount));
    return settings;
  }
  const std::string charge = table.String("charge_decisions", "measured");
  if (charge != "measured" && charge != "none") {
    table.Fail("charge_decisions", fmt::format("is \"{}\"", charge),
               fmt::format("measured, none, or 0 to {} microseconds", kMaxCount));
  }
  settings.charge =
      charge == "none" ? SimulationSettings::Charge::kNone : SimulationSettings::Charge::kMeasured;
  return settings;
}

RecordsConfig ReadRecordsTable(const TomlTable& table) {
  table.AllowOnly({"grants", "decisions", "samples", "steps", "resizes", "actuations", "requests",
                   "timeline", "compress"});
  const std::string compress = table.String("compress", "none");
  if (compress != "none" && compress != "gzip")
    table.Fail("compress", fmt::format("is \"{}\"", compress), "\"none\" or \"gzip\"");
  return {.grants = table.Boolean("grants", true),
          .decisions = table.Boolean("decisions", true),
          .samples = table.Boolean("samples", true),
          .steps = table.Boolean("steps", true),
          .resizes = table.Boolean("resizes", true),
          .actuations = table.Boolean("actuations", true),
          .requests = table.Boolean("requests", true),
          .timeline = table.Boolean("timeline", true),
          .gzip = compress == "gzip",
          .samples_by_default = !table.Has("samples"),
          .steps_by_default = !table.Has("steps")};
}

}  // namespace

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

Topology MachineOf(const TomlTable& root, const std::filesystem::path& folder,
                   const Topology& here) {
  const TomlTable machine = root.Table("machine");
  if (!machine.Has("topology")) return here;
  const std::string text = machine.String("topology");
  if (ParseBackend(root.String("backend", "hardware")) != Backend::kSimulated) {
    machine.Fail("topology", fmt::format("is \"{}\"", text),
                 "only with backend = \"simulated\"; tenants run on this machine");
  }
  try {
    return text.ends_with(".xml") ? Topology::FromXml(folder / text) : Topology::Synthetic(text);
  } catch (const InputError& error) {
    machine.Fail("topology", error.details().problem,
                 error.details().allowed + ", or an .xml file of hwloc's");
  }
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

std::vector<WorkloadConfig> LoadWorkloads(const std::filesystem::path& file) {
  std::vector<WorkloadConfig> workloads =
      ReadWorkloads(TomlTable::Load(file, {}), file.parent_path(), CpuSet::kMaxCpu + 1);
  std::vector<WorkloadConfig> singles;
  for (WorkloadConfig& workload : workloads) {
    if (!std::exchange(workload.spec.serves, false) || workload.spec.batch == 1) continue;
    singles.push_back(workload);
    singles.back().spec.batch = 1;
  }
  workloads.insert(workloads.end(), singles.begin(), singles.end());
  return workloads;
}

ExperimentConfig LoadConfig(const std::filesystem::path& file,
                            const std::vector<std::string>& overrides, const Topology& topology) {
  const TomlTable root = TomlTable::Load(file, overrides);
  root.AllowOnly({"name", "backend", "trials", "seed", "policies", "baseline", "elasticity",
                  "machine", "container", "simulation", "sampling", "records", "trace", "workload",
                  "policy", "sweep", "quick", "figure"});
  const std::filesystem::path folder = file.parent_path();
  ExperimentConfig config;
  config.file = file;
  config.name = Name(root, {});
  config.backend = ReadBackend(root);
  config.trials = static_cast<int>(root.Integer("trials", config.trials, 1, kMaxCount));
  config.seed = static_cast<uint64_t>(root.Integer("seed", 1, 0, INT64_MAX));
  ReadExternalPolicies(root, folder, &config);
  config.policies = ReadPolicies(root, config);
  config.baseline = ReadBaseline(root, config);
  config.elasticities = ReadElasticities(root);
  config.topology = MachineOf(root, folder, topology);
  const Topology& machine = *config.topology;
  config.machine = root.Table("machine").String("topology", "");
  config.cores = ReadCores(root.Table("machine"), machine);
  config.actuator = ReadActuator(root.Table("machine"), machine, config.backend);
  config.container = ReadContainer(root.Table("container"));
  config.revocation_deadline = std::chrono::milliseconds(
      root.Table("machine").Integer("revocation_deadline_ms", 250, 1, 60'000));
  const TomlTable sampling = root.Table("sampling");
  sampling.AllowOnly({"period_ms", "interference"});
  config.interference = sampling.Boolean("interference", false);
  if (config.interference && config.backend == Backend::kSimulated)
    sampling.Fail("interference", "is true, but the simulator has no threads that wait for threads",
                  "false with backend = \"simulated\"");
  config.sample_period =
      std::chrono::milliseconds(sampling.Integer("period_ms", 100, 1, kMaxPeriodMilliseconds));
  config.records = ReadRecordsTable(root.Table("records"));
  if (config.backend == Backend::kSimulated && config.records.steps && !config.records.samples) {
    root.Table("records").Fail("steps",
                               "is true without samples, by which the simulator counts them",
                               "false where samples = false");
  }
  if (config.interference && !config.records.samples) {
    sampling.Fail("interference", "needs samples", "only with records.samples = true");
  }
  config.workloads = ReadWorkloads(root, folder, config.cores.Count());
  config.kernel_rates = ReadKernelRates(root.Table("machine"), config.backend);
  for (WorkloadConfig& workload : config.workloads) workload.spec.rates = config.kernel_rates;
  CheckServices(root, config);
  config.profile = ReadProfile(root, folder, config);
  CheckSpeeds(root, config);
  config.simulation = ReadSimulation(root.Table("simulation"));
  config.extrapolate = root.Table("simulation").Boolean("extrapolate", false);
  RefuseExtrapolation(root, config);
  config.trace = ReadTraceConfig(root.Table("trace"), folder, config);
  ReadPolicyParameters(root, &config);
  return config;
}

}  // namespace cosched
