#include "experiments/launch/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/did_you_mean.h"
#include "engine/base/error.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/statistics.h"
#include "experiments/config/backend.h"
#include "experiments/config/toml_table.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

using nlohmann::json;

[[noreturn]] void RefuseReplay(const std::string& key, const std::string& problem,
                               const std::string& allowed) {
  throw InputError({.file = "command line", .key = key, .problem = problem, .allowed = allowed});
}

json ReplayedManifest(const std::filesystem::path& run) {
  json manifest = ReadManifest(run).value_or(json());
  if (!manifest.contains("experiment"))
    RefuseReplay("RESULTS", fmt::format("{} holds no record of a run", run.string()),
                 "the folder of a run: results/<experiment>/<run>");
  if (manifest.contains("points"))
    RefuseReplay("RESULTS", fmt::format("{} is a sweep", run.string()),
                 "one of its points' folders");
  return manifest;
}

// What is empty or null is left out, as a file would leave it out.
json WithoutEmpty(const json& value) {
  json kept = value;
  if (value.is_object()) {
    kept = json::object();
    for (const auto& [key, entry] : value.items())
      if (!entry.is_null() && entry != json("")) kept[key] = WithoutEmpty(entry);
  } else if (value.is_array()) {
    for (json& entry : kept) entry = WithoutEmpty(entry);
  }
  return kept;
}

// The parts of the model that a simulated run had on.
json Simulation(const json& experiment) {
  json simulation = experiment.value("simulation", json::object());
  simulation.erase("topology");
  simulation.erase("machine");
  return simulation;
}

// The machine that it ran on, or was simulated on.
json Machine(const json& manifest, const std::filesystem::path& scratch) {
  const json& experiment = manifest["experiment"];
  json machine = experiment.value("machine", json::object());
  machine.erase("actuator");      // The simulator moves tenants in one way only,
  machine.erase("kernel_rates");  // and none of them computes.
  machine.erase("hardware_threads");
  machine.erase("core_kinds");
  const std::string simulated =
      experiment.value("simulation", json::object()).value("topology", "this machine");
  if (simulated == "this machine") {
    WriteFileWhole(scratch / "topology.xml",
                   manifest.value("host", json::object()).value("topology_xml", ""));
    machine["topology"] = std::filesystem::absolute(scratch / "topology.xml").string();
  } else {
    const auto folder = std::filesystem::path(manifest.value("experiment_file", "")).parent_path();
    machine["topology"] = simulated.ends_with(".xml") ? (folder / simulated).string() : simulated;
  }
  return machine;
}

std::string ProfileOf(const json& experiment, const std::filesystem::path& given) {
  const std::string recorded = experiment.value("profile", json::object()).value("file", "");
  if (given.empty() && recorded.empty())
    RefuseReplay("--profile", "is required: the run was made without one",
                 "a profile of its programs (cosched calibrate)");
  return std::filesystem::absolute(given.empty() ? recorded : given.string()).string();
}

std::vector<std::string> Policies(const json& experiment, const ReplayOptions& options) {
  auto recorded = experiment.value("policies", std::vector<std::string>{});
  const bool external =
      options.policy_is_set || experiment.value("policy", json::object()).contains(options.policy);
  if (!external && !FindPolicy(options.policy))
    RefuseReplay("--policy",
                 fmt::format("there is no policy \"{}\"", options.policy) +
                     DidYouMean(options.policy, PolicyNames()),
                 PolicyNames());
  if (!options.recorded_policy.empty()) {
    if (std::find(recorded.begin(), recorded.end(), options.recorded_policy) == recorded.end())
      RefuseReplay("--recorded",
                   fmt::format("the run had no policy \"{}\"", options.recorded_policy),
                   fmt::format("{}", fmt::join(recorded, ", ")));
    recorded = {options.recorded_policy};
  }
  if (recorded == std::vector{options.policy})
    RefuseReplay("--policy", fmt::format("is {}, which the run had itself", options.policy),
                 "another policy; how well the run is simulated is told by cosched validate");
  if (std::find(recorded.begin(), recorded.end(), options.policy) == recorded.end())
    recorded.push_back(options.policy);
  return recorded;
}

JobTrace ReadTrace(const json& arrivals) {
  JobTrace trace;
  for (const json& one : arrivals) {
    JobArrival arrival;
    arrival.time = FromSeconds(one.at("arrival_s").get<double>());
    arrival.workload = one.at("workload").get<std::string>();
    const auto read = [&one](const char* key, std::optional<int>* value) {
      if (one.contains(key)) *value = one[key].get<int>();
    };
    read("cores_min", &arrival.cores_min);
    read("cores_preferred", &arrival.cores_preferred);
    read("cores_max", &arrival.cores_max);
    read("priority", &arrival.priority);
    read("steps", &arrival.steps);
    if (one.contains("elasticity"))
      ParseElasticity(one["elasticity"].get<std::string>(), &arrival.elasticity.emplace());
    trace.Add(arrival);
  }
  return trace;
}

RequestTrace ReadRequests(const json& arrivals) {
  RequestTrace trace;
  for (const json& one : arrivals) {
    RequestArrival& request = trace.emplace_back();
    request.time = FromSeconds(one.at("arrival_s").get<double>());
    request.service = one.at("service").get<std::string>();
    request.work = one.at("work").get<double>();
    if (one.contains("slo_ms")) request.slo = FromSeconds(one["slo_ms"].get<double>() / 1e3);
  }
  return trace;
}

// The manifest tells a long one by its hash (experiments/config/trace_json.cc).
const json& WholeTrace(const json& trace) {
  if (!trace.is_array()) {
    RefuseReplay(
        "RESULTS", "has traces that are too long to be kept in its manifest",
        "a run of shorter traces; or the experiment itself, simulated under both policies");
  }
  return trace;
}

// Of `trials = "until …"` more were drawn than ran.
json WithoutUnneededTrials(json manifest) {
  if (!manifest.contains("stopped")) return manifest;
  const size_t ran = manifest["stopped"].value("trials", size_t{0});
  for (const char* drawn : {"traces", "requests"}) {
    while (manifest.contains(drawn) && manifest[drawn].size() > ran)
      manifest[drawn].erase(manifest[drawn].size() - 1);
  }
  return manifest;
}

// The experiment as a file would say it, which is then checked as any other.
json ReplayedExperiment(const json& manifest, const ReplayOptions& options,
                        const std::filesystem::path& scratch) {
  const json& experiment = manifest["experiment"];
  json machine = Machine(manifest, scratch);
  machine["profile"] = ProfileOf(experiment, options.profile);
  json sampling = experiment.value("sampling", json::object());
  sampling.erase("interference");
  return {{"name", experiment.value("name", "run") + "-replay"},
          {"backend", ToString(Backend::kSimulated)},
          {"trials", manifest.at("traces").size()},
          {"seed", experiment.at("seed")},
          {"policies", Policies(experiment, options)},
          {"elasticity", experiment.at("elasticity")},
          {"machine", machine},
          {"sampling", sampling},
          {"simulation", Simulation(experiment)},
          {"trace", json::object()},  // Replaced by what was recorded.
          {"policy", experiment.value("policy", json::object())},
          {"workload", experiment.at("workload")},
          {"device", experiment.value("device", json::array())}};
}

class Switch final : public Policy {
 public:
  Switch(TimePoint time, std::unique_ptr<Policy> before, std::unique_ptr<Policy> after)
      : time_(time), before_(std::move(before)), after_(std::move(after)) {}
  Allocation Decide(const MachineView& view, const Event& event) override {
    Policy& acting = view.now < time_ ? *before_ : *after_;
    if (std::holds_alternative<Tick>(event)) {
      const Duration period = acting.TickPeriod();
      if (period == Duration(0) || view.now < next_tick_) return {};
      next_tick_ = view.now + period;
    }
    return acting.Decide(view, event);
  }
  // The shorter period of the two; each is told of a tick only when its own is due.
  Duration TickPeriod() const override {
    const auto [shorter, longer] = std::minmax({before_->TickPeriod(), after_->TickPeriod()});
    return shorter > Duration(0) ? shorter : longer;
  }

 private:
  const TimePoint time_;
  const std::unique_ptr<Policy> before_, after_;
  TimePoint next_tick_;  // The acting policy's.
};

struct ReplayedTrial {
  CellFigures recorded, twin, other;
};

Estimate Change(const std::vector<ReplayedTrial>& trials, const ValidatedMetric& metric,
                CellFigures ReplayedTrial::*to, CellFigures ReplayedTrial::*from) {
  std::vector<double> changes;
  for (const ReplayedTrial& trial : trials) {
    const double base = trial.*from.*metric.value;
    changes.push_back(base > 0 ? trial.*to.*metric.value / base - 1 : 0);
  }
  return MedianEstimate(changes);
}

Counterfactual::Row CounterfactualRow(const std::vector<ReplayedTrial>& trials,
                                      const ValidatedMetric& metric) {
  const auto median = [&](CellFigures ReplayedTrial::*side) {
    std::vector<double> values;
    for (const ReplayedTrial& trial : trials) values.push_back(trial.*side.*metric.value);
    return Median(values);
  };
  return {.recorded = median(&ReplayedTrial::recorded),
          .twin = median(&ReplayedTrial::twin),
          .other = median(&ReplayedTrial::other),
          .over_twin = Change(trials, metric, &ReplayedTrial::other, &ReplayedTrial::twin),
          .over_record = Change(trials, metric, &ReplayedTrial::other, &ReplayedTrial::recorded),
          .model_error = Change(trials, metric, &ReplayedTrial::twin, &ReplayedTrial::recorded)};
}

// What the figures of a table over so many trials are.
std::string TrialCountText(int trials) {
  if (trials == 0) return "0 trials";
  if (trials == 1) return "1 trial: no interval";
  return fmt::format("{} trials: median [interval], which holds the true median with {}", trials,
                     LevelText(trials));
}

// What was recorded is replayed as it is: other settings must leave it possible.
void CheckReplayed(const ExperimentConfig& config, const Plan& plan) {
  const auto find = [&config](const std::string& name, bool serves) {
    const WorkloadConfig* const workload = config.FindWorkload(name);
    if (workload == nullptr || (serves && !workload->spec.serves))
      RefuseReplay(
          "--set",
          fmt::format("leaves no {} {}, which was recorded", serves ? "service" : "workload", name),
          "settings that keep the run's workloads and their names");
    return workload;
  };
  for (const JobTrace& trace : plan.traces) {
    for (const JobArrival& arrival : trace) {
      const WorkloadConfig* const workload = find(arrival.workload, false);
      if (const auto problem = CheckRequest(RequestOf(*workload, arrival), config.cores.Count()))
        RefuseReplay("--set",
                     fmt::format("a job of {} was recorded whose {} {}", arrival.workload,
                                 problem->column, problem->problem),
                     problem->allowed);
    }
  }
  for (const RequestTrace& trace : plan.requests)
    for (const RequestArrival& request : trace) find(request.service, true);
}

}  // namespace

Sweep LoadReplay(const ReplayOptions& options, const std::filesystem::path& scratch,
                 const Topology& topology) {
  const json manifest = WithoutUnneededTrials(ReplayedManifest(options.recorded));
  const TomlTable experiment =
      TomlTable::FromJson(options.recorded / kManifestName,
                          WithoutEmpty(ReplayedExperiment(manifest, options, scratch)));
  if (manifest.contains("clients"))
    RefuseReplay("RESULTS",
                 "has clients that wait for their answers: what they ask depends on them",
                 "a run whose requests are sent when they are due");
  Sweep sweep = SinglePoint(LoadConfig(experiment.With(options.set), topology));
  const ExperimentConfig& config = sweep.points.front().config;
  std::vector<JobTrace>& traces = sweep.points.front().plan.traces;
  traces.clear();
  for (const json& trace : manifest["traces"]) traces.push_back(ReadTrace(WholeTrace(trace)));
  std::vector<RequestTrace>& requests = sweep.points.front().plan.requests;
  requests.assign(traces.size(), {});
  if (static_cast<size_t>(config.trials) > traces.size())
    RefuseReplay("--set",
                 fmt::format("trials is {}, but {} were recorded", config.trials, traces.size()),
                 "as many, or fewer");
  if (manifest.contains("requests")) {
    for (size_t trial = 0; trial < requests.size(); ++trial)
      requests[trial] = ReadRequests(WholeTrace(manifest["requests"].at(trial)));
  }
  CheckReplayed(config, sweep.points.front().plan);
  return sweep;
}

std::unique_ptr<Policy> SwitchAt(double time_s, std::unique_ptr<Policy> before,
                                 std::unique_ptr<Policy> after) {
  return std::make_unique<Switch>(TimePoint(FromSeconds(time_s)), std::move(before),
                                  std::move(after));
}

std::vector<Counterfactual> CompareReplay(const std::filesystem::path& recorded,
                                          const std::filesystem::path& twins,
                                          const std::filesystem::path& other,
                                          const std::string& policy) {
  std::map<std::pair<std::string, Elasticity>,
           std::pair<Counterfactual, std::vector<ReplayedTrial>>>
      all;
  const std::vector<CellKey> simulated = WholeCells(twins);
  for (const CellKey& key : WholeCells(recorded)) {
    // The other policy's own cells have no other policy.
    const bool has_twin = std::find(simulated.begin(), simulated.end(), key) != simulated.end();
    if (!has_twin || key.policy == policy) continue;
    auto& [result, trials] = all[{key.policy, key.elasticity}];
    result.recorded_policy = key.policy;
    result.elasticity = key.elasticity;
    CellKey other_key = key;
    other_key.policy = policy;
    const CellOutcome sides[] = {ReadOutcome(recorded, key), ReadOutcome(twins, key),
                                 ReadOutcome(other, other_key)};
    const auto failed = std::find_if(std::begin(sides), std::end(sides),
                                     [](const CellOutcome& side) { return !side.problem.empty(); });
    if (failed != std::end(sides)) {
      constexpr const char* kSides[] = {"recorded", "its twin", "the other policy"};
      result.left_out.push_back(fmt::format("{}: {}: {}", ToString(key),
                                            kSides[failed - std::begin(sides)], failed->problem));
      continue;
    }
    trials.push_back({sides[0].outcome, sides[1].outcome, sides[2].outcome});
  }
  std::vector<Counterfactual> results;
  for (auto& [group, entry] : all) {
    auto& [result, trials] = entry;
    result.trials = static_cast<int>(trials.size());
    for (size_t i = 0; i < kMetrics.size() && !trials.empty(); ++i)
      result.rows[i] = CounterfactualRow(trials, kMetrics[i]);
    results.push_back(std::move(result));
  }
  return results;
}

std::string ReplayTable(const std::vector<Counterfactual>& results, const std::string& policy) {
  std::string text;
  for (const Counterfactual& result : results) {
    text += fmt::format("{} ({}), {} in its place; {}\n", result.recorded_policy,
                        ToString(result.elasticity), policy, TrialCountText(result.trials));
    if (result.trials > 0) {
      text += fmt::format("  {:<16} {:>10} {:>10} {:>10}   {:<24} {:<24} {}\n", "", "recorded",
                          "its twin", "simulated", "change over the twin %", "over the record %",
                          "the twin's error %");
      for (size_t i = 0; i < kMetrics.size(); ++i) {
        const Counterfactual::Row& row = result.rows[i];
        text += fmt::format("  {:<16} {:>10.4g} {:>10.4g} {:>10.4g}   {:<24} {:<24} {}\n",
                            kMetrics[i].title, row.recorded, row.twin, row.other,
                            PercentText(row.over_twin, true), PercentText(row.over_record, true),
                            PercentText(row.model_error, true));
      }
    }
    for (const std::string& trial : result.left_out) text += "  * left out: " + trial + "\n";
    text += "\n";
  }
  return text +
         "  * what the policy changes is the change over the twin; the one over the record also "
         "holds the simulator's error\n";
}

}  // namespace cosched
