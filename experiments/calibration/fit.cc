#include "experiments/calibration/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/check.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"
#include "experiments/calibration/crowding_fit.h"
#include "experiments/calibration/notes.h"
#include "experiments/calibration/slow_downs.h"
#include "workloads/fit_contention.h"
#include "workloads/fit_scaling_law.h"
#include "workloads/pipelines/pipeline_choice.h"

namespace cosched {
namespace {

using MeasurementKind = Measurement::Kind;

constexpr int kQuantiles = 101;

DelayQuantiles QuantilesOf(const std::vector<double>& values) {
  DelayQuantiles quantiles;
  if (values.empty()) return quantiles;
  for (int i = 0; i < kQuantiles; ++i)
    quantiles.push_back(Quantile(values, static_cast<double>(i) / (kQuantiles - 1)));
  return quantiles;
}

void AppendAll(const std::vector<double>& from, std::vector<double>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

const SpeedPoint& PointOf(const ProgramProfile& program, int cores, Split threads) {
  const auto found = std::find_if(
      program.alone.begin(), program.alone.end(),
      [&](const SpeedPoint& point) { return point.cores == cores && point.threads == threads; });
  CHECK(found != program.alone.end()) << program.program << " on " << cores << " cores";
  return *found;
}

double Rate(const ProgramProfile& program, int cores) {
  return PointOf(program, 1, {1, 1}).step_s.value /
         PointOf(program, cores, DefaultSplit(cores)).step_s.value;
}

ProgramProfile FitAlone(const std::vector<Series>& all, size_t index, const std::string& name) {
  ProgramProfile program;
  program.program = name;
  std::vector<double> starts, stops, warm_ups;
  for (const Series& series : all) {
    if (series.measurement.kind != MeasurementKind::kAlone ||
        series.measurement.programs[0] != index)
      continue;
    program.alone.push_back(
        {series.measurement.cores, series.measurement.threads, StepTime(series, 0)});
    if (series.measurement.IsRigid()) continue;  // A rigid start is slower, as its steps are.
    for (const Measured& run : series.runs) {
      const MeasuredTenant& tenant = run.tenants[0];
      starts.push_back(tenant.start_s);
      warm_ups.push_back(std::max(0.0, tenant.warm_up_s / tenant.step_s - kWarmUpSteps));
      stops.push_back(tenant.stop_s);
    }
  }
  std::vector<SpeedUpPoint> speed_ups;
  for (const SpeedPoint& point : program.alone) {
    if (point.threads == DefaultSplit(point.cores))
      speed_ups.push_back({static_cast<double>(point.cores), Rate(program, point.cores)});
  }
  program.law = FitScalingLaw(speed_ups);
  program.start_s = MedianEstimate(starts);
  program.stop_s = MedianEstimate(stops);
  program.warm_up = MedianEstimate(warm_ups);
  return program;
}

// A request's whole batch is one call, which costs what it costs; other calls cost what their items
// do.
StageCost CostOf(const StageSpec& stage, const MeasuredTenant::Stage& took, int64_t made) {
  const auto calls = static_cast<double>(std::max<int64_t>(1, took.calls));
  const auto items = static_cast<double>(std::max<int64_t>(1, took.taken));
  const bool whole = stage.from.hands == Gate::Hands::kWhole;
  const double spent_s = stage.waits ? took.lasted_s : took.busy_s;
  StageCost cost;
  (whole ? cost.per_call_s : cost.per_item_s) = spent_s / (whole ? calls : items);
  if (!stage.emits_many) return cost;
  cost.emits_per_call = whole ? static_cast<double>(made) / calls : 0;
  cost.emits_per_item = whole ? 0 : static_cast<double>(made) / items;
  return cost;
}

// Of one run; what a stage made is what the next one took, and what the last one made are answers.
std::vector<StageCost> CostsOf(const std::vector<StageSpec>& stages, const MeasuredTenant& tenant,
                               int64_t requests) {
  std::vector<StageCost> costs;
  for (size_t i = 0; i < stages.size(); ++i) {
    const bool last = i + 1 == stages.size();
    costs.push_back(
        CostOf(stages[i], tenant.stages[i], last ? requests : tenant.stages[i + 1].taken));
  }
  return costs;
}

// The medians over runs on one core with one thread.
void FitStages(const std::vector<Series>& all, size_t index, const TenantSpec& spec,
               ProgramProfile* program) {
  if (!spec.IsPipeline()) return;
  const std::vector<StageSpec> stages = PipelineSpecOf(spec.pipeline).stages;
  std::vector<std::vector<StageCost>> runs;
  for (const Series& series : all) {
    const Measurement& measurement = series.measurement;
    if (measurement.kind != MeasurementKind::kAlone || measurement.programs[0] != index ||
        measurement.cores != 1 || measurement.threads != Split{1, 1})
      continue;
    for (const Measured& run : series.runs) {
      const MeasuredTenant& tenant = run.tenants[0];
      if (tenant.stages.size() == stages.size())
        runs.push_back(CostsOf(stages, tenant, tenant.steps));
    }
  }
  if (runs.empty()) return;
  const auto median = [&runs](size_t stage, double StageCost::*member) {
    std::vector<double> values;
    for (const std::vector<StageCost>& run : runs) values.push_back(run[stage].*member);
    return MedianEstimate(values).value;
  };
  for (size_t i = 0; i < stages.size(); ++i) {
    StageProfile& stage = program->stages.emplace_back();
    stage.stage = stages[i].name;
    for (double StageCost::*member : {&StageCost::per_call_s, &StageCost::per_item_s,
                                      &StageCost::emits_per_call, &StageCost::emits_per_item})
      stage.cost.*member = median(i, member);
  }
}

// Tenants of one program on shared cores are one entry, which counts them.
CoRun CoRunOf(const std::vector<Series>& all, const Series& series,
              const std::vector<ProgramProfile>& programs) {
  const Measurement& measurement = series.measurement;
  CoRun run{
      .tenants = {}, .fitted = measurement.IsFitted(), .shared_cores = measurement.shared_cores};
  const bool alike = measurement.kind == MeasurementKind::kShared && measurement.IsOfOneProgram();
  for (size_t tenant = 0; tenant < (alike ? 1 : measurement.programs.size()); ++tenant) {
    const Series& alone = AloneOf(all, measurement, tenant);
    run.tenants.push_back({.program = programs[measurement.programs[tenant]].program,
                           .count = alike ? static_cast<int>(measurement.programs.size()) : 1,
                           .cores = measurement.CoresOf(tenant),
                           .slowdown = alike ? PairedSlowDownOfAll(series, alone)
                                             : PairedSlowDown(series, tenant, alone)});
  }
  return run;
}

// What each tenant of a co-run meets.
std::vector<SlowDown> SlowDownsOf(const Measurement& measurement, const CoRun& run,
                                  const std::vector<ProgramProfile>& programs) {
  std::vector<SlowDown> slow_downs;
  for (size_t i = 0; i < run.tenants.size(); ++i) {
    SlowDown slow_down{
        static_cast<int>(measurement.programs[i]), {}, run.tenants[i].slowdown.value};
    for (size_t j = 0; j < run.tenants.size(); ++j) {
      const size_t other = measurement.programs[j];
      if (j != i) {
        slow_down.beside.push_back(
            {static_cast<int>(other), Rate(programs[other], run.tenants[j].cores)});
      }
    }
    slow_downs.push_back(std::move(slow_down));
  }
  return slow_downs;
}

std::string ErrorText(const char* what, const std::vector<double>& errors) {
  if (errors.empty()) return "";
  return fmt::format(
      "contention, {}: error of the slow-down over {} tenants: mean {:.1f} %, worst "
      "{:.1f} %",
      what, errors.size(), Mean(errors) * 100, Quantile(errors, 1) * 100);
}

// Fits pairs, and says how well the fit meets them and the triples.
void FitCoRuns(const std::vector<Series>& all, Profile* profile) {
  std::vector<SlowDown> pairs, triples;
  for (const Series& series : all) {
    if (series.measurement.kind != MeasurementKind::kCoRun && !series.measurement.IsOnSharedCores())
      continue;
    profile->co_runs.push_back(CoRunOf(all, series, profile->programs));
    if (series.measurement.IsOnSharedCores()) continue;
    for (SlowDown& one :
         SlowDownsOf(series.measurement, profile->co_runs.back(), profile->programs))
      (series.measurement.IsFitted() ? pairs : triples).push_back(std::move(one));
  }
  const ContentionFit fit = FitContention(static_cast<int>(profile->programs.size()), pairs);
  for (size_t i = 0; i < profile->programs.size(); ++i) {
    profile->programs[i].pressure = pairs.empty() ? 0 : fit.pressure[i];
    profile->programs[i].sensitivity = fit.sensitivity[i];
  }
  const auto errors = [&fit](const std::vector<SlowDown>& of) {
    std::vector<double> errors;
    for (const SlowDown& one : of)
      errors.push_back(std::abs(PredictSlowDown(fit, one.program, one.beside) / one.slow_down - 1));
    return errors;
  };
  for (const std::string& text : {ErrorText("pairs (fitted)", errors(pairs)),
                                  ErrorText("triples (not fitted)", errors(triples))}) {
    if (!text.empty()) profile->notes.push_back(text);
  }
  if (pairs.empty())
    profile->notes.push_back("contention: one core holds no two tenants with cores of their own");
  else if (triples.empty())
    profile->notes.push_back(
        "contention: no triples on fewer than 3 cores, so the sum over several "
        "co-runners is not checked");
}

// What they press on each other is as long as alone: the longer steps take, the less of it.
void FitSiblings(const std::vector<Series>& all, Profile* profile) {
  for (const Series& series : all) {
    const Measurement& measurement = series.measurement;
    if (measurement.kind != MeasurementKind::kSiblings) continue;
    ProgramProfile& program = profile->programs[measurement.programs[0]];
    program.sibling = PairedSlowDownOfAll(series, AloneOf(all, measurement, 0));
    for (double Estimate::*value : {&Estimate::value, &Estimate::low, &Estimate::high}) {
      double& slow_down = program.sibling.*value;
      slow_down = std::max(1.0, slow_down - program.sensitivity * program.pressure);
    }
  }
}

void FitMemory(const std::vector<Series>& all, Profile* profile) {
  std::vector<double> rates;
  std::map<size_t, std::vector<double>> bytes;  // By program.
  for (const Series& series : all) {
    const Measurement& measurement = series.measurement;
    const size_t program = measurement.programs[0];
    if (measurement.kind == MeasurementKind::kFar)
      profile->programs[program].far_memory =
          PairedSlowDown(series, 0, AloneOf(all, measurement, 0));
    if (measurement.kind != MeasurementKind::kMoves) continue;
    for (const Measured& run : series.runs) {
      for (const Measured::MemoryMove& move : run.memory_moves) {
        bytes[program].push_back(move.bytes);
        rates.push_back(move.bytes / std::max(1e-9, move.seconds));
      }
    }
  }
  for (const auto& [program, moved] : bytes)
    profile->programs[program].memory_bytes = MedianEstimate(moved);
  if (!rates.empty()) profile->move_bytes_s = MedianEstimate(rates);
}

void AddNotes(const std::vector<Series>& all, Profile* profile) {
  size_t runs = 0, disturbed = 0;
  for (const Series& series : all) {
    runs += series.runs.size();
    for (const Measured& run : series.runs) disturbed += run.disturbed ? 1 : 0;
  }
  if (disturbed > 0) {
    profile->notes.push_back(fmt::format(
        "{} of {} runs were marked: other programs used the cores, a CPU quota held, or "
        "arrivals came late",
        disturbed, runs));
  }
  if (profile->cores == 1) {
    profile->notes.push_back(
        "1 core: there is nothing to fit a scaling law to, and tenants neither grow nor shrink; "
        "beyond 1 core the profile assumes that n cores are n times as fast");
  } else if (profile->cores == 2) {
    profile->notes.push_back(
        "2 cores: one point determines Amdahl's law and leaves its error unknown");
  }
}

std::string EstimateText(const Estimate& estimate) {
  if (estimate.samples == 0) return "not measured";
  const std::string median = fmt::format("{:9.2f} ms", estimate.value * 1e3);
  if (estimate.samples == 1) return median + " (1 run: no interval)";
  const double half = (estimate.high - estimate.low) / 2 / estimate.value;
  return median + fmt::format(" ±{:4.1f} % ({} runs, level {})", half * 100, estimate.samples,
                              LevelText(estimate.samples));
}

std::string FittedLawText(const ScalingLaw& law) {
  std::string text(ToString(law.kind));
  for (const double parameter : law.parameters) text += fmt::format(" {:.4g}", parameter);
  return text + (law.error ? fmt::format(", error at a left-out number of cores {:.1f} %",
                                         *law.error * 100)
                           : ", error unknown");
}

std::string DelayText(const char* name, const DelayQuantiles& delays) {
  if (delays.empty()) return fmt::format("{}: not measured", name);
  return fmt::format("{}: p50 {:.0f} us, p99 {:.0f} us", name, Quantile(delays, 0.5) * 1e6,
                     Quantile(delays, 0.99) * 1e6);
}

// What the table calls programs: numbers where a name, a whole command, is too long to be repeated.
class ProgramLabels {
 public:
  explicit ProgramLabels(const Profile& profile) {
    constexpr size_t kLongName = 40;
    for (const ProgramProfile& program : profile.programs) {
      names_.push_back(program.program);
      numbered_ |= program.program.size() > kLongName;
    }
  }
  std::string Of(const std::string& program) const {
    const auto name = std::find(names_.begin(), names_.end(), program);
    return numbered_ && name != names_.end() ? fmt::format("[{}]", name - names_.begin() + 1)
                                             : program;
  }
  std::string Heading(const std::string& program) const {
    return numbered_ ? Of(program) + " " + program : program;
  }

 private:
  std::vector<std::string> names_;
  bool numbered_ = false;
};

// "2.135", "2.135 [2.011 2.204]".
std::string MeasuredText(const Estimate& estimate, int digits) {
  std::string text = fmt::format("{:.{}f}", estimate.value, digits);
  if (estimate.samples < 2) return text;
  return text + fmt::format(" [{1:.{0}f} {2:.{0}f}]", digits, estimate.low, estimate.high);
}

std::string CoRunText(const CoRun& run, const ProgramLabels& labels) {
  std::string text = "  ";
  for (const CoRun::Tenant& tenant : run.tenants) {
    if (tenant.count > 1) text += fmt::format("{} x ", tenant.count);
    text += fmt::format("{} on {}: {}  ", labels.Of(tenant.program), tenant.cores,
                        MeasuredText(tenant.slowdown, 3));
  }
  if (run.shared_cores > 0) text += fmt::format("(share {}) ", run.shared_cores);
  return text + (run.fitted ? "" : "(not fitted)") + "\n";
}

std::string CrowdingText(const ProgramProfile& program) {
  if (program.crowding.empty()) return "";
  std::string text = "  lost on shared cores, by own threads and others' threads per core:";
  for (const CrowdingPoint& point : program.crowding) {
    text +=
        fmt::format(" {}, {:.2g}: {};", point.threads, point.others, MeasuredText(point.loss, 2));
  }
  return text + fmt::format(" weight of a thread among several {:.2f}\n", program.weight);
}

std::string WarmUpText(const Estimate& warm_up) {
  if (warm_up.samples == 0) return "part of the start";
  return MeasuredText(warm_up, 2) + " steps";
}

std::string SiblingText(const ProgramProfile& program) {
  const Estimate& sibling = program.sibling;
  if (sibling.samples == 0) return "";
  return fmt::format("  beside another's thread on the same core a step takes {} times as long\n",
                     MeasuredText(sibling, 3));
}

std::string MemoryText(const ProgramProfile& program) {
  std::string text;
  const Estimate& far = program.far_memory;
  if (far.samples > 0) {
    text += fmt::format("  with its memory on another NUMA node a step takes {} times as long\n",
                        MeasuredText(far, 3));
  }
  const Estimate& bytes = program.memory_bytes;
  if (bytes.samples > 0)
    text += fmt::format("  memory that is moved {:.1f} MB\n", bytes.value / 1e6);
  return text;
}

std::string StagesText(const ProgramProfile& program) {
  std::string text;
  for (const StageProfile& stage : program.stages) {
    const StageCost& cost = stage.cost;
    text += fmt::format("  stage {:<10} {:9.3f} ms a call + {:9.3f} ms an item\n", stage.stage,
                        cost.per_call_s * 1e3, cost.per_item_s * 1e3);
  }
  return text;
}

std::string ProgramText(const ProgramProfile& program, const ProgramLabels& labels) {
  std::string text = labels.Heading(program.program) + "\n";
  for (const SpeedPoint& point : program.alone) {
    text += fmt::format("  {:>3} {:<5} {:>3}x{:<3} threads {}\n", point.cores,
                        point.cores == 1 ? "core" : "cores", point.threads.inter,
                        point.threads.intra, EstimateText(point.step_s));
  }
  return text + fmt::format(
                    "  beyond: {}\n  start {}\n  stop  {}\n  first steps take longer by {}\n"
                    "  pressure {:.3f}, sensitivity {:.3f}\n{}",
                    FittedLawText(program.law), EstimateText(program.start_s),
                    EstimateText(program.stop_s), WarmUpText(program.warm_up), program.pressure,
                    program.sensitivity,
                    StagesText(program) + CrowdingText(program) + SiblingText(program) +
                        MemoryText(program));
}

}  // namespace

Estimate StepTime(const Series& series, size_t tenant) {
  CHECK(!series.runs.empty()) << "no run";
  std::vector<double> values;
  for (const Measured& run : series.runs) values.push_back(run.tenants[tenant].step_s);
  return MedianEstimate(values);
}

Profile FitProfile(const std::vector<Series>& series, const std::vector<TenantSpec>& programs,
                   int cores) {
  Profile profile;
  profile.cores = cores;
  for (size_t i = 0; i < programs.size(); ++i) {
    profile.programs.push_back(FitAlone(series, i, ProgramName(programs[i])));
    FitStages(series, i, programs[i], &profile.programs.back());
  }
  AddNotes(series, &profile);
  FitCoRuns(series, &profile);
  FitCrowding(series, &profile);
  FitSiblings(series, &profile);
  FitMemory(series, &profile);
  AddCalibrationNotes(series, &profile);
  ResizeDelays delays;
  std::vector<double> decisions;
  for (const Series& one : series) {
    for (const Measured& run : one.runs) {
      AppendAll(run.decision, &decisions);
      // Only where moving was the point: elsewhere a tenant is told its cores at its start.
      if (one.measurement.kind != MeasurementKind::kResize) continue;
      AppendAll(run.resizes.grow, &delays.grow);
      AppendAll(run.resizes.shrink, &delays.shrink);
      AppendAll(run.resizes.pause, &delays.pause);
      AppendAll(run.resizes.resume, &delays.resume);
    }
  }
  profile.resize = {QuantilesOf(delays.grow), QuantilesOf(delays.shrink), QuantilesOf(delays.pause),
                    QuantilesOf(delays.resume)};
  profile.decision = QuantilesOf(decisions);
  return profile;
}

std::string ProfileTable(const Profile& profile) {
  const ProgramLabels labels(profile);
  std::string text;
  for (const ProgramProfile& program : profile.programs) text += ProgramText(program, labels);
  if (!profile.co_runs.empty()) text += "slow-down beside others\n";
  for (const CoRun& run : profile.co_runs) text += CoRunText(run, labels);
  text += fmt::format(
      "{}; {}; {}; {}\n{}\n", DelayText("grow", profile.resize.grow),
      DelayText("shrink", profile.resize.shrink), DelayText("pause", profile.resize.pause),
      DelayText("resume", profile.resize.resume), DelayText("decision", profile.decision));
  if (profile.move_bytes_s.samples > 0) {
    text += fmt::format("memory moves between NUMA nodes at {:.2f} [{:.2f} {:.2f}] GB/s\n",
                        profile.move_bytes_s.value / 1e9, profile.move_bytes_s.low / 1e9,
                        profile.move_bytes_s.high / 1e9);
  }
  for (const std::string& note : profile.notes) text += "  * " + note + "\n";
  return text;
}

}  // namespace cosched
