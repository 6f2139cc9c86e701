#include "experiments/config/profile_doubts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/numa.h"
#include "experiments/config/machine_table.h"
#include "experiments/hosts/simulation/speed_model.h"

namespace cosched {
namespace {

// Half of an interval, of the value: what `cosched calibrate` is content with is less.
constexpr double kLoose = 0.05;
constexpr double kBadFit = 0.1;  // Error of a scaling law at a left-out number of cores.
constexpr size_t kMostNamed = 3;
// How `cosched calibrate` notes that it was disturbed (experiments/calibration/fit.cc).
constexpr const char* kMarkedRuns = " runs were marked";

using Programs = std::vector<const ProgramProfile*>;

// Those of the profile that the experiment runs.
Programs ProgramsOf(const ExperimentConfig& config) {
  Programs programs;
  for (const WorkloadConfig& workload : config.workloads) {
    const ProgramProfile* program = config.profile->profile->Find(ProgramName(workload.spec));
    if (program != nullptr &&
        std::find(programs.begin(), programs.end(), program) == programs.end()) {
      programs.push_back(program);
    }
  }
  return programs;
}

int MostMeasuredCores(const ProgramProfile& program) {
  int cores = 1;
  for (const SpeedPoint& point : program.alone) cores = std::max(cores, point.cores);
  return cores;
}

// Cores of the program that was measured on the fewest.
int FewestMeasuredCores(const Programs& programs) {
  int cores = CpuSet::kMaxCpu + 1;
  for (const ProgramProfile* program : programs)
    cores = std::min(cores, MostMeasuredCores(*program));
  return cores;
}

bool RestsOnProfile(const ExperimentConfig& config) {
  if (!config.profile) return false;
  return config.backend == Backend::kSimulated ||
         std::any_of(config.policies.begin(), config.policies.end(), [&config](const auto& policy) {
           return config.FindPolicy(policy)->needs_speed;
         });
}

std::string Named(const std::vector<std::string>& names) {
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + std::min(names.size(), kMostNamed));
  const std::string more =
      names.size() > kMostNamed ? fmt::format(" and {} more", names.size() - kMostNamed) : "";
  return fmt::format("{}{}", fmt::join(first, ", "), more);
}

const char* Cores(int cores) { return cores == 1 ? "core" : "cores"; }

void DoubtSource(const Profile& profile, std::vector<std::string>* doubts) {
  // What follows the word is a command line.
  const auto is = [&profile](const char* source) { return profile.source.starts_with(source); };
  if (is("published")) {
    doubts->push_back("taken from published figures, not measured on this machine");
  } else if (!profile.source.empty() && !is("calibrate")) {
    doubts->push_back(profile.source);
  }
  for (const std::string& note : profile.notes) {
    const size_t marked = note.find(kMarkedRuns);
    if (marked == std::string::npos) continue;
    doubts->push_back(note.substr(0, marked) +
                      " runs of the calibration were marked (other programs ran meanwhile)");
  }
}

void DoubtIntervals(const Programs& programs, std::vector<std::string>* doubts) {
  int all = 0, single = 0, loose = 0;
  for (const ProgramProfile* program : programs) {
    for (const SpeedPoint& point : program->alone) {
      const Estimate& step = point.step_s;
      ++all;
      if (step.samples < 2) {
        ++single;
      } else if ((step.high - step.low) / 2 > kLoose * step.value) {
        ++loose;
      }
    }
  }
  if (loose > 0) {
    doubts->push_back(fmt::format("{} of {} step times have intervals wider than ±{:g} %", loose,
                                  all, kLoose * 100));
  }
  if (single > 0)
    doubts->push_back(
        fmt::format("{} of {} step times are of one run, without interval", single, all));
}

// Points with as many threads as cores, by cores.
std::vector<SpeedPoint> CurveOf(const ProgramProfile& program) {
  std::vector<SpeedPoint> curve;
  for (const SpeedPoint& point : program.alone) {
    if (point.threads == DefaultSplit(point.cores)) curve.push_back(point);
  }
  std::sort(curve.begin(), curve.end(),
            [](const SpeedPoint& a, const SpeedPoint& b) { return a.cores < b.cores; });
  return curve;
}

// The first number of cores on which it is not faster than on fewer, as text: beyond the intervals,
// or at all.
std::string WhereNotFaster(const ProgramProfile& program, bool beyond_intervals) {
  const std::vector<SpeedPoint> curve = CurveOf(program);
  for (size_t i = 1; i < curve.size(); ++i) {
    const SpeedPoint &few = curve[i - 1], &many = curve[i];
    const bool is = beyond_intervals ? many.step_s.low > few.step_s.high
                                     : many.step_s.value >= few.step_s.value;
    if (!is) continue;
    return fmt::format("{} ({:.4g} ms on {} {}, {:.4g} ms on {})", program.program,
                       few.step_s.value * 1e3, few.cores, Cores(few.cores), many.step_s.value * 1e3,
                       many.cores);
  }
  return "";
}

void DoubtCurves(const Programs& programs, std::vector<std::string>* doubts) {
  std::vector<std::string> slower, not_faster;
  for (const ProgramProfile* program : programs) {
    const std::string surely = WhereNotFaster(*program, true);
    const std::string maybe = WhereNotFaster(*program, false);
    if (!surely.empty()) {
      slower.push_back(surely);
    } else if (!maybe.empty()) {
      not_faster.push_back(maybe);
    }
  }
  if (!slower.empty()) doubts->push_back("slower on more cores: " + Named(slower));
  if (!not_faster.empty())
    doubts->push_back("not shown to be faster on more cores: " + Named(not_faster));
}

void DoubtExtrapolation(const Programs& programs, int cores, std::vector<std::string>* doubts) {
  const int measured = FewestMeasuredCores(programs);
  if (programs.empty() || cores <= measured) return;
  doubts->push_back(fmt::format(
      "{} cores, {} measured: speeds beyond {} {} are extrapolated{}", cores, measured, measured,
      Cores(measured),
      cores > kMostExtrapolation * measured
          ? fmt::format(", over more than {} times the measured cores", kMostExtrapolation)
          : ""));
  std::vector<std::string> unknown, bad;
  for (const ProgramProfile* program : programs) {
    const std::optional<double> error = program->law.error;
    if (!error) {
      unknown.push_back(program->program);
    } else if (*error > kBadFit) {
      bad.push_back(fmt::format("{} ({:.0f} %)", program->program, *error * 100));
    }
  }
  if (!unknown.empty()) doubts->push_back("the fitted curve's error is unknown: " + Named(unknown));
  if (!bad.empty())
    doubts->push_back("the fitted curve's error at a left-out number of cores: " + Named(bad));
}

// What a core was when the programs were measured, and what it is here.
void DoubtThreads(const ExperimentConfig& config, std::vector<std::string>* doubts) {
  const Profile& profile = *config.profile->profile;
  const int here = TenantsMachine(config).ThreadsPerCore();
  const int measured = std::max(1, profile.threads_per_core);
  if (here == measured) return;
  if (measured > 1) {
    doubts->push_back(fmt::format(
        "measured with each of a core's {} hardware threads as a core (calibrate --smt threads), "
        "but here {}: speeds on several cores are too low",
        measured, here == 1 ? "one of each core is used" : fmt::format("{} of a core are", here)));
    return;
  }
  doubts->push_back(fmt::format(
      "{}, but here each of a core's {} hardware threads is one (machine.smt): the threads of a "
      "core are simulated as fast as so many cores (calibrate --smt threads)",
      profile.threads_per_core == 0
          ? "it is not told whether hardware threads were measured as cores"
          : "measured with one hardware thread of each core",
      here));
}

void DoubtKinds(const ExperimentConfig& config, std::vector<std::string>* doubts) {
  const std::string kinds = CoreKindsText(TenantsMachine(config));
  if (!kinds.empty()) doubts->push_back(kinds + ", which are taken for equally fast");
}

void DoubtGaps(const ExperimentConfig& config, const Programs& programs,
               std::vector<std::string>* doubts) {
  const Profile& profile = *config.profile->profile;
  std::vector<std::string> gaps;
  const bool oversubscribed =
      std::all_of(programs.begin(), programs.end(), [](const ProgramProfile* program) {
        return std::any_of(
            program->alone.begin(), program->alone.end(),
            [](const SpeedPoint& point) { return ThreadsOf(point.threads) > point.cores; });
      });
  if (config.simulation.oversubscription && !oversubscribed)
    gaps.emplace_back("more threads than cores");
  const bool shared = std::any_of(
      config.policies.begin(), config.policies.end(),
      [&config](const auto& policy) { return config.FindPolicy(policy)->oversubscribes; });
  const bool crowded = std::all_of(programs.begin(), programs.end(),
                                   [](const auto* program) { return !program->crowding.empty(); });
  if (config.simulation.oversubscription && shared && !crowded)
    gaps.emplace_back("what tenants lose on shared cores");
  const bool threads = TenantsMachine(config).HasSiblings();
  const bool siblings = std::ranges::all_of(
      programs, [](const auto* program) { return program->sibling.samples > 0; });
  if (threads && !siblings) gaps.emplace_back("what tenants lose beside others on a physical core");
  const NumaMap numa = NumaMap::Of(*config.topology);
  const bool has_nodes = numa.NodesOf(config.cores).Count() > 1;
  if (config.simulation.numa && has_nodes && !profile.KnowsFarMemory())
    gaps.emplace_back("what memory on another NUMA node costs");
  if (config.simulation.contention && profile.co_runs.empty()) gaps.emplace_back("contention");
  const ResizeDelays& resize = profile.resize;
  if (config.simulation.resize_delay && resize.grow.empty() && resize.shrink.empty())
    gaps.emplace_back("resize delays");
  if (config.simulation.charge == SimulationSettings::Charge::kMeasured && profile.decision.empty())
    gaps.emplace_back("decision times");
  if (!gaps.empty()) doubts->push_back(fmt::format("not measured: {}", fmt::join(gaps, ", ")));
}

}  // namespace

std::vector<std::string> ProfileDoubts(const ExperimentConfig& config) {
  std::vector<std::string> doubts;
  if (!RestsOnProfile(config)) return doubts;
  const Programs programs = ProgramsOf(config);
  DoubtSource(*config.profile->profile, &doubts);
  DoubtIntervals(programs, &doubts);
  DoubtCurves(programs, &doubts);
  DoubtExtrapolation(programs, config.cores.Count(), &doubts);
  DoubtThreads(config, &doubts);
  DoubtKinds(config, &doubts);
  if (config.backend == Backend::kSimulated) DoubtGaps(config, programs, &doubts);
  return doubts;
}

std::vector<std::string> ProfileDoubts(const Sweep& sweep) {
  std::vector<std::string> all;
  for (const SweepPoint& point : sweep.points) {
    for (std::string& doubt : ProfileDoubts(point.config)) {
      if (std::find(all.begin(), all.end(), doubt) == all.end()) all.push_back(std::move(doubt));
    }
  }
  return all;
}

void RefuseExtrapolation(const TomlTable& root, const ExperimentConfig& config) {
  if (config.backend != Backend::kSimulated || config.extrapolate) return;
  const Programs programs = ProgramsOf(config);
  const int cores = config.cores.Count();
  const int measured = FewestMeasuredCores(programs);
  if (programs.empty() || cores <= kMostExtrapolation * measured) return;
  root.Table("machine").Fail(
      "profile",
      fmt::format("{} was measured on at most {} {}, but {} are to be simulated",
                  config.profile->file.string(), measured, Cores(measured), cores),
      fmt::format("at most {} cores (machine.topology, machine.cores), a profile measured on more, "
                  "or --extrapolate (simulation.extrapolate = true), which the results then tell",
                  kMostExtrapolation * measured));
}

}  // namespace cosched
