#include "experiments/launch/dry_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/analysis/trials_look.h"
#include "experiments/config/device_table.h"
#include "experiments/config/experiment_sections.h"
#include "experiments/config/gate_table.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/machine_table.h"
#include "experiments/config/policy_tables.h"
#include "experiments/config/trace_table.h"
#include "experiments/config/workload_table.h"
#include "experiments/launch/records_size.h"
#include "experiments/launch/trial_rounds.h"

namespace cosched {
namespace {

constexpr size_t kMostArrivals = 20;  // Arrivals of a trial, in the table.
constexpr size_t kMostCells = 40;     // In the order.

// Lines of one table. path: where its keys are in the file.
std::string SectionText(const std::string& heading, const std::vector<KeyValue>& values,
                        const ExperimentConfig& config, const std::string& path) {
  std::string text = heading.empty() ? "" : fmt::format("\n{}\n", heading);
  for (const auto& [key, value, unset] : values) {
    const std::string at = path.empty() ? key : fmt::format("{}.{}", path, key);
    const bool is_default = !config.written->Has(at) || (at == "machine.kernel_rates" &&
                                                         config.written->String(at) == kKeptRates);
    if (value.is_null() || InlineToml(value) == R"("")") {
      text += fmt::format("# {}: {}\n", key, unset.empty() ? "none" : unset);
      continue;
    }
    const std::string line = fmt::format("{} = {}", key, InlineToml(value));
    text += is_default ? fmt::format("{:<44} # default\n", line) : line + "\n";
  }
  return text;
}

std::vector<KeyValue> Without(std::vector<KeyValue> values, const std::vector<std::string>& keys) {
  std::erase_if(values, [&keys](const auto& value) {
    return std::find(keys.begin(), keys.end(), value.key) != keys.end();
  });
  return values;
}

std::string TraceText(const ExperimentConfig& config) {
  const TraceConfig& trace = config.trace;
  std::string text;
  if (trace.sources.empty()) {
    text += SectionText("[trace]", Without(TraceSection().Values(trace), {"requests"}), config,
                        "trace");
  }
  for (size_t i = 0; i < trace.sources.size(); ++i) {
    text += SectionText(i == 0 ? "[trace]" : "[[trace.merge]]",
                        TraceSourceSection().Values(trace.sources[i]), config,
                        i == 0 ? "trace" : fmt::format("trace.merge.{}", i - 1));
  }
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    text += SectionText("[[trace.requests]]", RequestStreamSection().Values(trace.requests[i]),
                        config, fmt::format("trace.requests.{}", i));
  }
  return text;
}

std::string KeysText(const ExperimentConfig& config) {
  const std::vector<std::string> tables = {"machine", "container", "sampling", "records",
                                           "trace",   "workload",  "policy",   "simulation",
                                           "device",  "dispatch",  "services", "gate"};
  std::string text = SectionText("", Without(RootSection().Values(config), tables), config, "");
  text += SectionText("[machine]", MachineSection().Values(config), config, "machine");
  if (config.backend == Backend::kContainer)
    text += SectionText("[container]", ContainerSection().Values(config.container), config,
                        "container");
  if (config.backend == Backend::kSimulated)
    text += SectionText("[simulation]", SimulationSection().Values(config), config, "simulation");
  text += SectionText("[sampling]", SamplingSection().Values(config), config, "sampling");
  text += SectionText("[records]", RecordsSection().Values(config.records), config, "records");
  for (size_t i = 0; i < config.workloads.size(); ++i) {
    text += SectionText("[[workload]]", WorkloadSection().Values(config.workloads[i]), config,
                        fmt::format("workload.{}", i));
  }
  if (config.HasServices())
    text +=
        SectionText("[services]", ServicesSection().Values(config.services), config, "services");
  for (size_t i = 0; i < config.devices.size(); ++i) {
    text += SectionText("[[device]]", DeviceSection().Values(config.devices[i]), config,
                        fmt::format("device.{}", i));
  }
  text += TraceText(config);
  for (size_t i = 0; i < config.gates.size(); ++i) {
    text += SectionText("[[gate]]", GateSection().Values(config.gates[i]), config,
                        fmt::format("gate.{}", i));
  }
  for (const std::string& name : config.policies) {
    const std::vector<KeyValue> keys = PolicyValues(config, name);
    if (!keys.empty())
      text += SectionText(fmt::format("[policy.{}]", name), keys, config, "policy." + name);
  }
  for (const auto& [name, given] : config.dispatch.parameters)
    text += SectionText(fmt::format("[dispatch.{}]", name),
                        DispatchValues(config, *FindDispatch(name)), config, "dispatch." + name);
  return text;
}

// What a trial takes at least: all work of its jobs on all cores, the last of them alone, or until
// the last request is sent.
// Nothing where a program's speed is not known.
std::optional<double> LeastOfTrial(const SweepPoint& point, size_t trial) {
  const JobTrace& trace = point.plan.traces[trial];
  CellJobs jobs(point.config, Elasticity::kMalleable, static_cast<int>(trial) + 1);
  const RequestTrace& requests = point.plan.requests[trial];
  double core_seconds = 0, latest = requests.empty() ? 0 : ToSeconds(requests.back().time);
  for (size_t i = 0; i < trace.size(); ++i) {
    const Job job = jobs.JobOf(trace[i], static_cast<int64_t>(i));
    const double speed = job.speed ? job.speed->At(job.request.preferred) : 0;
    const double seconds = job.steps > 0 && speed > 0 ? static_cast<double>(job.steps) / speed : 0;
    if (job.steps > 0 && speed <= 0) return {};
    core_seconds += seconds * job.request.preferred;
    latest = std::max(latest, ToSeconds(trace[i].time) + seconds);
  }
  return std::max(latest, core_seconds / point.config.cores.Count());
}

// Of the cells of the first trials, one after the other.
std::optional<double> LeastOfTrials(const SweepPoint& point, size_t trials) {
  const auto cells =
      static_cast<double>(point.config.policies.size() * point.config.elasticities.size());
  double total = 0;
  for (size_t trial = 0; trial < trials; ++trial) {
    const std::optional<double> least = LeastOfTrial(point, trial);
    if (!least) return {};
    total += cells * *least;
  }
  return total;
}

std::string TimeText(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  return seconds < 7200 ? fmt::format("{:.0f} min", seconds / 60)
                        : fmt::format("{:.1f} h", seconds / 3600);
}

// Trials that run in any case: up to the first look.
size_t FewestTrials(const ExperimentConfig& config) {
  return static_cast<size_t>(config.until ? TrialLooks(config.trials).front() : config.trials);
}

// "3", "8 to 40".
std::string TrialsCountText(const ExperimentConfig& config) {
  return config.until ? fmt::format("{} to {}", FewestTrials(config), config.trials)
                      : std::to_string(config.trials);
}

// All cells, one after the other.
std::string ExpectedTimeText(const Sweep& sweep) {
  double total = 0, fewest = 0;
  for (const SweepPoint& point : sweep.points) {
    const std::optional<double> all = LeastSeconds(point);
    if (!all)
      return "time: unknown; a machine.profile (cosched calibrate) would tell how fast the "
             "programs are";
    total += *all;
    fewest += LeastOfTrials(point, FewestTrials(point.config)).value_or(0);
  }
  const bool simulated = sweep.points.front().config.backend == Backend::kSimulated;
  const std::string time = fewest < total ? fmt::format("{} (the fewest trials) to {} (the most)",
                                                        TimeText(fewest), TimeText(total))
                                          : TimeText(total);
  return fmt::format("time: {}{}, if no core ever waits",
                     simulated ? time + " are simulated, at least," : "at least " + time,
                     sweep.points.front().config.profile ? " by the profile" : "");
}

std::string ArrivalsText(const ExperimentConfig& config, const Plan& plan, size_t trial) {
  std::string text = fmt::format("  {:>10}  {:<16} {:>6}  {:<15} {:>8}\n", "arrival_s", "workload",
                                 "steps", "min/pref/max", "priority");
  CellJobs jobs(config, Elasticity::kMalleable, static_cast<int>(trial) + 1);
  const JobTrace& trace = plan.traces[trial];
  for (size_t index = 0; index < std::min(trace.size(), kMostArrivals); ++index) {
    const JobArrival arrival = trace[index];
    const Job job = jobs.JobOf(arrival, static_cast<int64_t>(index));
    const TenantSpec& spec = jobs.SpecOf(arrival, static_cast<int64_t>(index));
    text += fmt::format(
        "  {:>10.3f}  {:<16} {:>6}  {:<15} {:>8}\n", ToSeconds(arrival.time), job.workload,
        spec.steps,
        fmt::format("{}/{}/{}", job.request.min, job.request.preferred, job.request.max),
        job.priority);
  }
  if (trace.size() > kMostArrivals)
    text += fmt::format("  … and {} more\n", trace.size() - kMostArrivals);
  if (config.HasServices())
    text += fmt::format("  and {} requests for the services\n", RequestsOf(plan, trial));
  return text;
}

std::string TrialsText(const ExperimentConfig& config, const Plan& plan) {
  std::string text, first;
  for (size_t trial = 0; trial < FewestTrials(config); ++trial) {
    const std::string arrivals = ArrivalsText(config, plan, trial);
    if (trial == 0) first = arrivals;
    text += trial > 0 && arrivals == first
                ? fmt::format("\ntrial {}: the same arrivals\n", trial + 1)
                : fmt::format("\ntrial {}: arrivals\n{}", trial + 1, arrivals);
  }
  if (config.until)
    text +=
        fmt::format("\n… and as many more as it takes until {} ± {:.6g} %, looked at after {}\n",
                    LooksAtRatios(config) ? fmt::format("the ratios of {} to {}'s are known to",
                                                        config.until->metric, config.baseline)
                                          : config.until->metric + " is known to",
                    config.until->within * 100, fmt::join(TrialLooks(config.trials), ", "));
  return text;
}

std::string CountsText(const ExperimentConfig& config, const Plan& plan) {
  std::string unlike;
  for (const std::string& text :
       {HardwareThreadsText(config), CoreKindsText(TenantsMachine(config))})
    if (!text.empty()) unlike += ": " + text;
  return fmt::format("{} policies x {} elasticities x {} trials, {} jobs each, on cores {}{}",
                     config.policies.size(), config.elasticities.size(), TrialsCountText(config),
                     plan.traces.front().size(), config.cores.ToString(), unlike);
}

std::string PointsText(const Sweep& sweep) {
  std::string text = "\npoints (below them: policies x elasticities x trials, jobs, cores)\n";
  for (const SweepPoint& point : sweep.points)
    text += fmt::format("  {}\n      {}\n", point.name, CountsText(point.config, point.plan));
  for (const std::string& point : sweep.left_out) text += fmt::format("  left out: {}\n", point);
  return text;
}

std::string OrderText(const Sweep& sweep) {
  std::string text = fmt::format(
      "\norder of cells: trial by trial, each in random order ({}policy/elasticity/trial)\n",
      sweep.IsSwept() ? "point/" : "");
  for (size_t i = 0; i < std::min(sweep.cells.size(), kMostCells); ++i) {
    const SweepCell& cell = sweep.cells[i];
    const std::string point = sweep.points[cell.point].name;
    text += fmt::format("  {}{}\n", point.empty() ? "" : point + "/", ToString(cell.key));
  }
  if (sweep.cells.size() > kMostCells)
    text += fmt::format("  … and {} more\n", sweep.cells.size() - kMostCells);
  return text;
}

}  // namespace

std::optional<double> LeastSeconds(const SweepPoint& point) {
  return LeastOfTrials(point, point.plan.traces.size());
}

std::string DryRunText(const Sweep& sweep) {
  const SweepPoint& first = sweep.points.front();
  std::string text;
  if (sweep.IsSwept())
    text += fmt::format("# {} at {}, the first of {} points\n", sweep.name(), first.name,
                        sweep.points.size());
  text += KeysText(first.config);
  text += fmt::format("\n{}: {}{} cells{}\n", sweep.name(),
                      HasSequentialTrials(sweep) ? "at most " : "", sweep.cells.size(),
                      sweep.IsSwept() ? fmt::format(" at {} points", sweep.points.size())
                                      : " = " + CountsText(first.config, first.plan));
  text += ExpectedTimeText(sweep) + "\n";
  text += fmt::format("disk: {} of records{}\n", RecordsSizeText(EstimateRecords(sweep)),
                      first.config.profile
                          ? ""
                          : ", but for samples, whose number follows from the programs' speed");
  text += sweep.IsSwept() ? PointsText(sweep) : TrialsText(first.config, first.plan);
  return text + OrderText(sweep);
}

}  // namespace cosched
