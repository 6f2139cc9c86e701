#include "experiments/calibration/published_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/portable_math.h"
#include "experiments/analysis/statistics.h"
#include "experiments/records/csv.h"
#include "workloads/fit_contention.h"
#include "workloads/fit_scaling_law.h"

namespace cosched {
namespace {

constexpr const char* kProgram = "resnet56 train batch 128";
constexpr const char* kCurves = "times_oversubscription-2.csv";
constexpr const char* kContention = "times_contention.csv";
constexpr const char* kChecks[] = {"times_contention-v2.csv", "times_contention-v4.csv"};
constexpr double kSteps = 300;  // Steps of a program of kContention.
// Hardware threads of the machine: the most that a container was given. It has a few more;
// how many is not published.
constexpr int kMachine = 64;
// A program can't be this much faster on fewer cores: such a cell is a run that failed.
constexpr double kImpossible = 2;

// Seconds by (row, column): (cores, threads), or (cores each, containers).
using SpeedTable = std::map<std::pair<int, int>, double>;

SpeedTable ReadTable(const std::filesystem::path& file, const char* row, const char* column) {
  CsvReader reader(file);
  const size_t rows = reader.Column(row), columns = reader.Column(column),
               times = reader.Column("Time");
  SpeedTable table;
  while (reader.Next()) {
    if (reader.Empty(times)) continue;
    const std::pair cell(static_cast<int>(reader.Integer(rows)),
                         static_cast<int>(reader.Integer(columns)));
    table[cell] = reader.Number(times);
    if (cell.first < 1 || cell.second < 1 || !(table[cell] > 0)) {
      throw InputError({file.string(), 0, "",
                        fmt::format("has {},{},{:g}", cell.first, cell.second, table[cell]),
                        "counts of 1 or more and times above 0"});
    }
  }
  return table;
}

double RequiredCell(const SpeedTable& table, std::pair<int, int> cell, const char* file) {
  const auto found = table.find(cell);
  if (found != table.end()) return found->second;
  throw InputError({file, 0, "", fmt::format("has no row {},{}", cell.first, cell.second),
                    "the published table"});
}

// Takes out the cells that can't be: the same threads on more cores took far longer.
std::vector<std::string> DropFailed(SpeedTable* curves) {
  std::vector<std::string> dropped;
  for (auto cell = curves->begin(); cell != curves->end();) {
    const auto cores = cell->first.first, threads = cell->first.second;
    const bool failed = std::any_of(curves->begin(), curves->end(), [&](const auto& other) {
      return other.first.second == threads && other.first.first > cores &&
             other.second > kImpossible * cell->second;
    });
    if (!failed) {
      ++cell;
      continue;
    }
    dropped.push_back(fmt::format("{} {} x {} threads = {:g} s", cores,
                                  cores == 1 ? "core" : "cores", threads, cell->second));
    cell = curves->erase(cell);
  }
  return dropped;
}

// The curves in seconds a step: in log-log between measured points; on less than a core in
// proportion to it.
class Curves {
 public:
  Curves(const SpeedTable& seconds, double scale) {
    for (const auto& [cell, time] : seconds) by_threads_[cell.second][cell.first] = time * scale;
  }

  double StepSeconds(double cores, double threads) const {
    std::map<double, double> at_cores;
    for (const auto& [count, times] : by_threads_)
      at_cores[count] = At(times, std::max(1.0, cores));
    return At(at_cores, threads) / std::min(1.0, cores);
  }
  double Rate(double cores, double threads) const {
    return StepSeconds(1, 1) / StepSeconds(cores, threads);
  }

 private:
  static double At(const std::map<double, double>& points, double x) {
    const auto above = points.lower_bound(x);
    if (above == points.end()) return points.rbegin()->second;
    if (above == points.begin() || above->first == x) return above->second;
    const auto below = std::prev(above);
    const double share = (PortableLog(x) - PortableLog(below->first)) /
                         (PortableLog(above->first) - PortableLog(below->first));
    return PortableExp(PortableLog(below->second) * (1 - share) +
                       PortableLog(above->second) * share);
  }

  std::map<double, std::map<double, double>> by_threads_;  // Threads -> cores -> seconds.
};

Estimate Single(double value) { return {value, value, value, 1}; }

std::vector<SpeedUpPoint> SpeedUps(const SpeedTable& curves, double alone) {
  std::vector<SpeedUpPoint> points;
  for (const auto& [cell, time] : curves) {
    if (cell.first == cell.second)
      points.push_back({static_cast<double>(cell.first), alone / time});
  }
  return points;
}

bool Fits(std::pair<int, int> cell) { return cell.first * cell.second <= kMachine; }

// Slow-downs of the cells whose containers had cores of their own, over the same without others.
std::vector<SlowDown> SlowDowns(const SpeedTable& contention, const Curves& curves) {
  std::vector<SlowDown> slow_downs;
  for (const auto& [cell, time] : contention) {
    const auto& [cores, containers] = cell;
    const auto alone = contention.find({cores, 1});
    if (containers == 1 || !Fits(cell) || alone == contention.end()) continue;
    const double rate = curves.Rate(cores, cores);
    slow_downs.push_back({0, {{0, rate * (containers - 1)}}, time / alone->second});
  }
  return slow_downs;
}

std::string FitText(const std::string& name, const ContentionFit& fit,
                    const std::vector<SlowDown>& slow_downs) {
  std::vector<double> errors;
  for (const SlowDown& one : slow_downs)
    errors.push_back(std::abs(PredictSlowDown(fit, 0, one.beside) / one.slow_down - 1));
  return fmt::format(
      "{}: {} cells with cores of their own; error of the slow-down: mean {:.1f} %, "
      "worst {:.1f} %",
      name, errors.size(), Mean(errors) * 100, Quantile(errors, 1) * 100);
}

// More containers than the machine has cores for: each is taken to have its share of them.
std::string SharedText(const SpeedTable& contention, const Curves& curves,
                       const ContentionFit& fit) {
  std::map<int, std::vector<double>> errors;  // By threads of each.
  for (const auto& [cell, time] : contention) {
    if (Fits(cell)) continue;
    const auto& [threads, containers] = cell;
    const double share = static_cast<double>(kMachine) / containers;
    const double alone = curves.StepSeconds(share, threads);
    const double others = (containers - 1) * curves.StepSeconds(1, 1) / alone;
    const double predicted = alone * PredictSlowDown(fit, 0, {{0, others}});
    errors[threads].push_back(predicted / (time / kSteps) - 1);
  }
  std::string text = fmt::format(
      "{}: cells of more threads than {} (not fitted to), each container on its share of the cores "
      "with the measured oversubscription; median error of the time by threads each:",
      kContention, kMachine);
  for (const auto& [threads, values] : errors)
    text += fmt::format(" {}: {:+.0f} %", threads, Median(values) * 100);
  return text;
}

std::vector<CoRun> CoRuns(const SpeedTable& contention) {
  std::vector<CoRun> runs;
  for (const auto& [cell, time] : contention) {
    const auto& [cores, containers] = cell;
    const auto alone = contention.find({cores, 1});
    if (containers == 1 || alone == contention.end()) continue;
    runs.push_back({.tenants = {{.program = kProgram,
                                 .count = containers,
                                 .cores = cores,
                                 .slowdown = Single(time / alone->second)}},
                    .fitted = Fits(cell)});
  }
  return runs;
}

// The two tables are of different runs: where they overlap they must agree.
std::string AgreementText(const SpeedTable& contention, const Curves& curves) {
  std::vector<double> errors;
  for (const auto& [cell, time] : contention) {
    if (cell.second == 1 && cell.first > 1)
      errors.push_back(curves.StepSeconds(cell.first, cell.first) / (time / kSteps) - 1);
  }
  return fmt::format(
      "the two tables on 2 and more cores, scaled to agree on 1: the curves differ by {:+.1f} to "
      "{:+.1f} %",
      Quantile(errors, 0) * 100, Quantile(errors, 1) * 100);
}

std::string LawBeyond(const ScalingLaw& law) {
  std::string text = fmt::format("beyond {} cores: {}", kMachine, ToString(law.kind));
  for (double parameter : law.parameters) text += fmt::format(" {:.4g}", parameter);
  return text + (law.error ? fmt::format(", error at a left-out number of cores {:.1f} %",
                                         *law.error * 100)
                           : ", error unknown");
}

}  // namespace

PublishedProfile ReadPublishedProfile(const std::filesystem::path& folder) {
  SpeedTable curves = ReadTable(folder / kCurves, "Cores", "Intra");
  const SpeedTable contention = ReadTable(folder / kContention, "Cores_Per_C", "Containers");
  PublishedProfile result;
  const std::vector<std::string> failed = DropFailed(&curves);
  const double step_s = RequiredCell(contention, {1, 1}, kContention) / kSteps;
  const double scale = step_s / RequiredCell(curves, {1, 1}, kCurves);
  const Curves in_steps(curves, scale);

  ProgramProfile program;
  program.program = kProgram;
  for (const auto& [cell, time] : curves)
    program.alone.push_back({cell.first, {1, cell.second}, Single(time * scale)});
  program.law = FitScalingLaw(SpeedUps(curves, curves.at({1, 1})));
  const std::vector<SlowDown> slow_downs = SlowDowns(contention, in_steps);
  const ContentionFit fit = FitContention(1, slow_downs);
  program.pressure = fit.pressure[0];
  program.sensitivity = fit.sensitivity[0];

  std::vector<std::string>& report = result.report;
  report.push_back(fmt::format("{}: {} cells of cores x threads, the shape of the curves", kCurves,
                               curves.size()));
  for (const std::string& cell : failed)
    report.push_back(fmt::format("{}: left out as a failed run: {}", kCurves, cell));
  report.push_back(
      fmt::format("{}: a step on 1 core with 1 thread takes {:.3f} s ({:g} s for {:g} "
                  "steps); the curves are scaled by it",
                  kContention, step_s, step_s * kSteps, kSteps));
  report.push_back(AgreementText(contention, in_steps));
  report.push_back(LawBeyond(program.law));
  report.push_back(
      fmt::format("contention: pressure {:.3g}, sensitivity {:.4f} for each co-runner's "
                  "rate, least squares over {}",
                  program.pressure, program.sensitivity, kContention));
  report.push_back(FitText(kContention, fit, slow_downs));
  for (const char* check : kChecks) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / check, ignored)) continue;
    const SpeedTable other = ReadTable(folder / check, "Cores_Per_C", "Containers");
    report.push_back(FitText(check, fit, SlowDowns(other, in_steps)) + " (not fitted to)");
  }
  report.push_back(SharedText(contention, in_steps, fit));
  report.push_back("one run a cell was published: no estimate has an interval");
  report.push_back(
      "not published, so not in the profile: start and stop times (they are within the steps'), "
      "resize delays, decision times");

  result.profile.host = "the published study's machine: more than 64 hardware threads";
  result.profile.cores = kMachine;
  result.profile.programs = {program};
  result.profile.co_runs = CoRuns(contention);
  result.profile.notes = report;
  return result;
}

}  // namespace cosched
