#include "experiments/manifest.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "engine/base/error.h"
#include "experiments/build_info.h"
#include "experiments/output_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;  // In the order in which a person reads it.

constexpr int kFormat = 1;
constexpr const char* kManifest = "manifest.json";
// A longer trace is told by its length and hash: a million arrivals are a tenth of a gigabyte, and
// jobs.csv has them all.
constexpr size_t kMostArrivals = 10'000;

std::string UtcNow(const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::time(nullptr)));
}
std::string IsoNow() { return UtcNow("{:%Y-%m-%dT%H:%M:%SZ}"); }

std::string FirstLine(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

Json RequestJson(const CoreRequest& request) {
  return {{"min", request.min}, {"preferred", request.preferred}, {"max", request.max}};
}

Json WorkloadJson(const WorkloadConfig& workload) {
  const TenantSpec& spec = workload.spec;
  Json json = {{"name", workload.name},
               {"model", spec.model},
               {"mode", ToString(spec.mode)},
               {"dataset", spec.dataset},
               {"data", spec.data_directory},
               {"batch", spec.batch},
               {"steps", spec.steps},
               {"cores", RequestJson(workload.cores)},
               {"threads", workload.threads.value_or(workload.cores.preferred)},
               {"inter", workload.inter},
               {"priority", workload.priority},
               {"weight", workload.weight}};
  if (spec.precision != Precision::kFloat) json["precision"] = ToString(spec.precision);
  if (spec.spin != kSpin) json["spin_us"] = spec.spin / std::chrono::microseconds(1);
  if (!spec.serves) return json;
  // In a service's own terms, as the experiment file has them.
  json["mode"] = "serve";
  json.erase("steps");
  json.erase("weight");
  json.erase("batch");
  json["max_batch"] = spec.batch;
  json["max_delay_ms"] = ToSeconds(spec.max_delay) * 1e3;
  if (workload.slo) json["slo_ms"] = ToSeconds(*workload.slo) * 1e3;
  return json;
}

// unit: what the keys of mean and deviation end with.
Json DistributionJson(const Distribution& distribution, const std::string& unit) {
  Json json = {{"distribution", ToString(distribution.kind)},
               {"mean" + unit, distribution.mean},
               {"sd" + unit, distribution.sd}};
  using Kind = Distribution::Kind;
  if (distribution.kind == Kind::kGamma) json["cv"] = distribution.cv;
  if (distribution.kind == Kind::kWeibull || distribution.kind == Kind::kPareto)
    json["shape"] = distribution.shape;
  return json;
}

Json StreamJson(const RequestStream& stream) {
  return {{"service", stream.service},
          {"count", stream.count},
          {"gap", DistributionJson(stream.gap, "_s")},
          {"work", DistributionJson(stream.work, "")},
          {"start_s", ToSeconds(stream.start)}};
}

Json SourceJson(const TraceSource& source) {
  const TraceSelection& selection = source.selection;
  return {{"file", source.file.string()},
          {"fnv1a", source.hash},
          {"format", source.format},
          {"start_s", ToSeconds(selection.start)},
          {"length_s", selection.length ? Json(ToSeconds(*selection.length)) : Json()},
          {"sample", selection.sample},
          {"sample_seed", selection.seed},
          {"speedup", selection.speedup},
          {"offset_s", ToSeconds(source.offset)},
          {"spread", source.spread ? Json(ToString(*source.spread)) : Json()},
          {"durations", source.durations.string()},
          {"on_bad_row", source.skip_bad_rows ? "skip" : "error"},
          {"map", source.map},
          {"rows", source.rows},
          {"skipped", source.skipped},
          {"first_skipped", source.first_skipped},
          {"jobs", source.jobs},
          {"requests", source.requests},
          {"rejected", source.rejected},
          {"limited", source.limited}};
}

Json TraceJson(const TraceConfig& trace) {
  Json json;
  if (trace.replay) {
    json = {{"file", trace.file.string()}, {"jobs", trace.jobs}};
    for (const TraceSource& source : trace.sources) json["files"].push_back(SourceJson(source));
  } else {
    json = {{"jobs", trace.jobs}, {"gap", DistributionJson(trace.gap, "_s")}};
  }
  for (const RequestStream& stream : trace.requests) json["requests"].push_back(StreamJson(stream));
  return json;
}

// Where an external policy comes from.
void AddOrigin(const ExperimentConfig& config, const std::string& policy, Json* json) {
  const auto found = config.external_policies.find(policy);
  if (found == config.external_policies.end()) return;
  const ExternalPolicy& external = *found->second;
  if (!external.library.empty()) {
    (*json)["library"] = external.library;
    return;
  }
  (*json)["exec"] = external.command;
  (*json)["directory"] = external.directory.string();
  (*json)["time_limit_s"] = ToSeconds(external.time_limit);
}

std::string ChargeText(const SimulationSettings& model) {
  switch (model.charge) {
    case SimulationSettings::Charge::kMeasured: return "measured";
    case SimulationSettings::Charge::kNone: return "none";
    case SimulationSettings::Charge::kFixed:
      return fmt::format("{} us", model.fixed_charge / std::chrono::microseconds(1));
  }
  return "";
}

// Which machine, by which measurements, with which parts of the model.
Json SimulationJson(const ExperimentConfig& config) {
  const SimulationSettings& model = config.simulation;
  return {{"topology", config.machine.empty() ? "this machine" : config.machine},
          {"machine", config.topology->Summary()},
          {"contention", model.contention},
          {"oversubscription", model.oversubscription},
          {"startup", model.startup},
          {"resize_delay", model.resize_delay},
          {"charge_decisions", ChargeText(model)},
          {"noise", model.noise}};
}

Json ProfileJson(const ProfileConfig& profile) {
  return {{"file", profile.file.string()},           {"fnv1a", profile.hash},
          {"source", profile.profile->source},       {"host", profile.profile->host},
          {"version", profile.profile->version},     {"date", profile.profile->date},
          {"measured_cores", profile.profile->cores}};
}

Json RecordsJson(const RecordsConfig& records) {
  return {{"grants", records.grants},    {"decisions", records.decisions},
          {"samples", records.samples},  {"steps", records.steps},
          {"resizes", records.resizes},  {"actuations", records.actuations},
          {"timeline", records.timeline}};
}

Json ExperimentJson(const ExperimentConfig& config) {
  Json elasticities = Json::array();
  for (Elasticity elasticity : config.elasticities) elasticities.push_back(ToString(elasticity));
  Json workloads = Json::array();
  for (const WorkloadConfig& workload : config.workloads)
    workloads.push_back(WorkloadJson(workload));
  Json parameters = Json::object();
  for (const auto& [policy, values] : config.policy_parameters) {
    parameters[policy] = values;
    AddOrigin(config, policy, &parameters[policy]);
  }
  Json json = {
      {"name", config.name},
      {"backend", config.backend},
      {"trials", config.trials},
      {"seed", config.seed},
      {"policies", config.policies},
      {"elasticity", elasticities},
      {"machine",
       {{"cores", config.cores.ToString()},
        {"actuator", ToString(config.actuator)},
        {"revocation_deadline_ms", config.revocation_deadline / std::chrono::milliseconds(1)}}},
      {"container",
       {{"client", ToString(config.container.client)},
        {"actuation", ToString(config.container.actuation)}}},
      {"sampling",
       {{"period_ms", config.sample_period / std::chrono::milliseconds(1)},
        {"interference", config.interference}}},
      {"records", RecordsJson(config.records)},
      {"trace", TraceJson(config.trace)},
      {"workload", workloads},
      {"policy", parameters}};
  if (config.HasServices()) json["records"]["requests"] = config.records.requests;
  if (config.profile) json["profile"] = ProfileJson(*config.profile);
  if (config.backend == "simulated") json["simulation"] = SimulationJson(config);
  return json;
}

Json ArrivalJson(const JobArrival& arrival) {
  Json json = {{"arrival_s", ToSeconds(arrival.time)}, {"workload", arrival.workload}};
  const auto add = [&json](const char* key, const std::optional<int>& value) {
    if (value) json[key] = *value;
  };
  add("cores_min", arrival.cores_min);
  add("cores_preferred", arrival.cores_preferred);
  add("cores_max", arrival.cores_max);
  add("priority", arrival.priority);
  add("steps", arrival.steps);
  if (arrival.elasticity) json["elasticity"] = ToString(*arrival.elasticity);
  return json;
}

Json ArrivalJson(const RequestArrival& arrival) {
  Json json = {
      {"arrival_s", ToSeconds(arrival.time)}, {"service", arrival.service}, {"work", arrival.work}};
  if (arrival.slo) json["slo_ms"] = ToSeconds(*arrival.slo) * 1e3;
  return json;
}

// All that ArrivalJson would say, for a hash.
void Append(const JobArrival& arrival, std::string* text) {
  fmt::format_to(std::back_inserter(*text), "{} {}", arrival.time.count(), arrival.workload);
  for (const auto& value : {arrival.cores_min, arrival.cores_preferred, arrival.cores_max,
                            arrival.priority, arrival.steps}) {
    *text += ' ';
    if (value) fmt::format_to(std::back_inserter(*text), "{}", *value);
  }
  if (arrival.elasticity) *text += ToString(*arrival.elasticity);
}

void Append(const RequestArrival& arrival, std::string* text) {
  fmt::format_to(std::back_inserter(*text), "{} {} {}", arrival.time.count(), arrival.service,
                 arrival.work);
  if (arrival.slo) fmt::format_to(std::back_inserter(*text), " {}", arrival.slo->count());
}

// FNV-1a.
template <typename Trace>
std::string HashOf(const Trace& trace) {
  uint64_t hash = 14695981039346656037U;
  const auto mix = [&hash](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * uint64_t{1099511628211U};
    }
  };
  std::string text;
  for (const auto& arrival : trace) {
    text.clear();
    Append(arrival, &text);
    mix(text += '\n');
  }
  return fmt::format("{:016x}", hash);
}

template <typename Trace>
Json TracesJson(const std::vector<Trace>& of_trials) {
  Json traces = Json::array();
  for (const Trace& trace : of_trials) {
    if (trace.size() > kMostArrivals) {
      traces.push_back({{"arrivals", trace.size()}, {"fnv1a", HashOf(trace)}});
      continue;
    }
    Json arrivals = Json::array();
    for (const auto& arrival : trace) arrivals.push_back(ArrivalJson(arrival));
    traces.push_back(std::move(arrivals));
  }
  return traces;
}

// Every policy with all its parameters, defaults included.
Json PoliciesJson(const ExperimentConfig& config) {
  Json policies = Json::array();
  for (const std::string& name : config.policies) {
    const PolicyInfo& info = *config.FindPolicy(name);
    Json parameters = Json::object();
    for (const PolicyParameter& parameter : info.parameters) {
      parameters[std::string(parameter.name)] = parameter.default_value;
    }
    if (const auto given = config.policy_parameters.find(name);
        given != config.policy_parameters.end()) {
      for (const auto& [parameter, value] : given->second) parameters[parameter] = value;
    }
    policies.push_back(
        {{"name", name}, {"oversubscribes", info.oversubscribes}, {"parameters", parameters}});
    AddOrigin(config, name, &policies.back());
  }
  return policies;
}

Json BuildJson() {
  const BuildInfo& build = GetBuildInfo();
  return {{"version", build.version},       {"git_commit", build.git_commit},
          {"compiler", build.compiler},     {"build_type", build.build_type},
          {"sanitizers", build.sanitizers}, {"onednn", build.onednn},
          {"eigen", build.eigen},           {"hwloc", build.hwloc}};
}

Json HostJson(const RunContext& context) {
  utsname names{};
  uname(&names);
  const std::string cpu = std::to_string(std::max(0, context.topology.Cpus().First()));
  const std::string governor =
      FirstLine("/sys/devices/system/cpu/cpu" + cpu + "/cpufreq/scaling_governor");
  return {{"name", names.nodename},
          {"kernel",
           fmt::format("{} {} {} {}", names.sysname, names.release, names.version, names.machine)},
          {"cpus", context.topology.Cpus().ToString()},
          {"topology", context.topology.Summary()},
          {"governor", governor.empty() ? "unknown" : governor},
          {"scheduling", context.scheduling},
          {"topology_xml", context.topology.Xml()}};
}

Json PointsJson(const Sweep& sweep) {
  Json points = Json::array();
  for (const SweepPoint& point : sweep.points) {
    Json values = Json::object();
    for (const auto& [key, value] : point.values) values[key] = value;
    points.push_back({{"name", point.name}, {"values", values}});
  }
  return points;
}

Json SweepManifest(const Sweep& sweep, const RunContext& context) {
  const ExperimentConfig& first = sweep.points.front().config;
  return {{"format", kFormat},
          {"status", "running"},
          {"started", IsoNow()},
          {"finished", nullptr},
          {"command_line", context.command_line},
          {"experiment_file", std::filesystem::absolute(first.file).string()},
          {"experiment", {{"name", first.name}}},
          {"points", PointsJson(sweep)},
          {"left_out", sweep.left_out},
          {"cells", sweep.cells.size()},
          {"build", BuildJson()},
          {"host", HostJson(context)},
          {"resumed", Json::array()}};
}

Json NewManifest(const ExperimentConfig& config, const Plan& plan, const RunContext& context) {
  Json manifest = {{"format", kFormat},
                   {"status", "running"},
                   {"started", IsoNow()},
                   {"finished", nullptr},
                   {"command_line", context.command_line},
                   {"experiment_file", std::filesystem::absolute(config.file).string()},
                   {"experiment", ExperimentJson(config)},
                   {"policies", PoliciesJson(config)},
                   {"cells", plan.cells.size()},
                   {"traces", TracesJson(plan.traces)},
                   {"requests", config.HasServices() ? TracesJson(plan.requests) : Json()},
                   {"build", BuildJson()},
                   {"host", HostJson(context)},
                   {"resumed", Json::array()}};
  if (!config.HasServices()) manifest.erase("requests");
  return manifest;
}

void WriteManifest(const std::filesystem::path& run, const Json& manifest) {
  // A name that is not UTF-8 must not keep a run from being recorded.
  WriteFileWhole(run / kManifest,
                 manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// nullopt if there is none, or it is not whole.
std::optional<Json> ReadManifest(const std::filesystem::path& run) {
  std::ifstream stream(run / kManifest);
  Json manifest = Json::parse(stream, nullptr, false);
  if (!manifest.is_object() || manifest.value("format", 0) != kFormat) return std::nullopt;
  return manifest;
}

// Empty if another process holds it.
UniqueFd Lock(const std::filesystem::path& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? std::move(fd) : UniqueFd();
}

std::string RunName() {
  std::random_device device;
  return fmt::format("{}-{:04x}", UtcNow("{:%Y%m%dT%H%M%SZ}"), device() & 0xffff);
}

bool SamePoint(const std::filesystem::path& run, const SweepPoint& point) {
  const std::optional<Json> manifest = ReadManifest(PointFolder(run, point));
  return manifest && manifest->value("experiment", Json()) == ExperimentJson(point.config) &&
         manifest->value("traces", Json()) == TracesJson(point.plan.traces) &&
         (!point.config.HasServices() ||
          manifest->value("requests", Json()) == TracesJson(point.plan.requests));
}

bool SameExperiment(const std::filesystem::path& run, const Json& manifest, const Sweep& sweep) {
  if (sweep.IsSwept() && manifest.value("points", Json()) != PointsJson(sweep)) return false;
  return std::all_of(sweep.points.begin(), sweep.points.end(),
                     [&run](const SweepPoint& point) { return SamePoint(run, point); });
}

void FinishManifest(const std::filesystem::path& run, const std::string& status) {
  std::optional<Json> manifest = ReadManifest(run);
  if (!manifest) throw OutputError((run / kManifest).string() + ": is gone, or no longer whole");
  (*manifest)["status"] = status;
  (*manifest)["finished"] = IsoNow();
  WriteManifest(run, *manifest);
}

void WriteManifests(const std::filesystem::path& run, const Sweep& sweep,
                    const RunContext& context) {
  for (const SweepPoint& point : sweep.points) {
    const std::filesystem::path folder = PointFolder(run, point);
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) throw OutputError(folder.string() + ": can't make it: " + error.message());
    WriteManifest(folder, NewManifest(point.config, point.plan, context));
  }
  if (sweep.IsSwept()) WriteManifest(run, SweepManifest(sweep, context));
}

}  // namespace

std::string ResolvedConfig(const ExperimentConfig& config) {
  return ExperimentJson(config).dump(2);
}

std::vector<std::filesystem::path> PointFolders(const std::filesystem::path& run) {
  const std::optional<Json> manifest = ReadManifest(run);
  if (!manifest || !manifest->contains("points")) return {run};
  std::vector<std::filesystem::path> folders;
  for (const Json& point : (*manifest)["points"]) folders.push_back(run / point.value("name", ""));
  return folders;
}

bool IsRunOf(const std::filesystem::path& run, const Sweep& sweep) {
  const std::optional<Json> manifest = ReadManifest(run);
  return manifest && SameExperiment(run, *manifest, sweep);
}

std::filesystem::path NewRunFolder(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  // A taken name is not an error for create_directory; it tells by its result.
  while (!error) {
    std::filesystem::path folder = parent / RunName();
    if (std::filesystem::create_directory(folder, error)) return folder;
  }
  const std::string problem =
      fmt::format("can't make a folder below {}: {}", parent.string(), error.message());
  if (error == std::errc::no_space_on_device) throw OutputError(problem);
  throw InputError({.file = "command line",
                    .key = "--out",
                    .problem = problem,
                    .allowed = "a folder that can be written to"});
}

RunFolder RunFolder::Create(const std::filesystem::path& results, const Sweep& sweep,
                            const RunContext& context) {
  RunFolder folder(NewRunFolder(results / sweep.name()), UniqueFd());
  folder.lock_ = Lock(folder.path_);
  try {
    WriteManifests(folder.path_, sweep, context);
  } catch (const OutputError&) {
    std::error_code ignored;
    std::filesystem::remove_all(folder.path_, ignored);
    throw;
  }
  return folder;
}

RunFolder RunFolder::Resume(const std::filesystem::path& results, const Sweep& sweep,
                            const RunContext& context) {
  const std::filesystem::path parent = results / sweep.name();
  std::vector<std::filesystem::path> runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error))
    runs.push_back(entry.path());
  std::sort(runs.rbegin(), runs.rend());  // Names begin with the time: the latest first.
  for (const std::filesystem::path& run : runs) {
    std::optional<Json> manifest = ReadManifest(run);
    if (!manifest || (*manifest)["status"] != "running" || !SameExperiment(run, *manifest, sweep))
      continue;
    UniqueFd lock = Lock(run);
    if (!lock) continue;
    (*manifest)["resumed"].push_back({{"time", IsoNow()},
                                      {"command_line", context.command_line},
                                      {"git_commit", GetBuildInfo().git_commit},
                                      {"scheduling", context.scheduling}});
    WriteManifest(run, *manifest);
    return RunFolder(run, std::move(lock));
  }
  throw InputError(
      {.file = "command line",
       .key = "--resume",
       .problem =
           fmt::format("there is no unfinished run of this experiment, with these values, below {}",
                       parent.string()),
       .allowed = "the file, --set, --policy, --trials, --seed and --out of the run that was "
                  "interrupted"});
}

void RunFolder::Finish(const std::string& status) {
  for (const std::filesystem::path& folder : PointFolders(path_)) {
    if (folder != path_) FinishManifest(folder, status);
  }
  FinishManifest(path_, status);
}

}  // namespace cosched
