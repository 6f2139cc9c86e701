#include "experiments/config/experiment_json.h"

#include <fmt/format.h>

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

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
               // Where none are given, those of a job follow the preferred cores of its arrival.
               {"threads", workload.threads ? Json(*workload.threads) : Json()},
               {"inter", workload.inter},
               {"spin_us", spec.spin / std::chrono::microseconds(1)},
               {"split", spec.auto_split ? "auto" : "policy"},
               {"precision", ToString(spec.precision)},
               {"deterministic", spec.deterministic},
               {"priority", workload.priority},
               {"weight", workload.weight}};
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
          {"noise", model.noise},
          {"extrapolate", config.extrapolate}};
}

Json ProfileJson(const ProfileConfig& profile) {
  return {{"file", profile.file.string()},           {"fnv1a", profile.hash},
          {"source", profile.profile->source},       {"host", profile.profile->host},
          {"version", profile.profile->version},     {"date", profile.profile->date},
          {"measured_cores", profile.profile->cores}};
}

Json RecordsJson(const RecordsConfig& records) {
  return {{"grants", records.grants},     {"decisions", records.decisions},
          {"samples", records.samples},   {"steps", records.steps},
          {"resizes", records.resizes},   {"actuations", records.actuations},
          {"timeline", records.timeline}, {"compress", records.gzip ? "gzip" : "none"}};
}

}  // namespace

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
      {"backend", ToString(config.backend)},
      {"trials", config.trials},
      {"seed", config.seed},
      {"policies", config.policies},
      {"baseline", config.baseline},
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
  if (config.backend != Backend::kSimulated)
    json["machine"]["kernel_rates"] = ToString(config.kernel_rates);
  if (config.HasServices()) json["records"]["requests"] = config.records.requests;
  if (config.profile) json["profile"] = ProfileJson(*config.profile);
  if (config.backend == Backend::kSimulated) json["simulation"] = SimulationJson(config);
  return json;
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

}  // namespace cosched
