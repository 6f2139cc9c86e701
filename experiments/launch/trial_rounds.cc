#include "experiments/launch/trial_rounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/analysis/comparison_runs.h"
#include "experiments/launch/slurm.h"

namespace cosched {
namespace {

// The looks at one point; one that has a number of trials is done after the only one.
struct PointLooks {
  std::vector<int> looks;
  size_t next = 0;
  bool done = false;

  int Trials() const { return looks[next]; }
};

std::vector<PointLooks> LooksOf(const Sweep& sweep) {
  std::vector<PointLooks> points;
  for (const SweepPoint& point : sweep.points) {
    const ExperimentConfig& config = point.config;
    points.push_back({config.until ? TrialLooks(config.trials) : std::vector{config.trials}});
  }
  return points;
}

void TellLook(const SweepPoint& point, const TrialsLook& look, int trials,
              std::optional<int> next) {
  const std::string reached =
      look.within ? fmt::format("± {:.2g} %", *look.within * 100) : std::string("unknown yet");
  const std::string then = look.enough ? "that is enough"
                           : next      ? fmt::format("on to {}", *next)
                                       : "no more trials are allowed";
  fmt::print(stderr, "{}after {} trials the widest interval of {} is {} ({}): {}\n",
             point.name.empty() ? "" : point.name + ": ", trials, point.config.until->metric,
             reached, look.widest, then);
}

// Of a run that is over; nullopt: their number is not found out by looks.
std::optional<int> NeededTrials(const SweepPoint& point, const std::filesystem::path& run) {
  if (!point.config.until) return std::nullopt;
  const auto sequential = ReadComparedRun(PointFolder(run, point)).sequential;
  return sequential && sequential->stopped ? std::optional(sequential->trials) : std::nullopt;
}

}  // namespace

bool HasSequentialTrials(const Sweep& sweep) {
  return std::any_of(sweep.points.begin(), sweep.points.end(),
                     [](const SweepPoint& point) { return point.config.until.has_value(); });
}

HarnessResult RunInRounds(const Sweep& sweep, const std::filesystem::path& run,
                          const std::function<HarnessResult(const std::vector<SweepCell>& cells,
                                                            size_t planned)>& run_cells,
                          std::vector<StoppedTrials>* stopped) {
  std::vector<PointLooks> points = LooksOf(sweep);
  HarnessResult sum;
  const auto is_done = [](const PointLooks& point) { return point.done; };
  while (!std::all_of(points.begin(), points.end(), is_done)) {
    const auto is_later = [&points](const SweepCell& cell) {
      return cell.key.trial > points[cell.point].Trials();
    };
    std::vector<SweepCell> cells = MissingCells(run, sweep);
    std::erase_if(cells, is_later);
    if (!cells.empty()) {
      const auto later = std::count_if(sweep.cells.begin(), sweep.cells.end(), is_later);
      const HarnessResult result =
          run_cells(cells, sweep.cells.size() - static_cast<size_t>(later));
      sum.done += result.done;
      sum.failed += result.failed;
      sum.with_failures += result.with_failures;
      sum.interrupted = result.interrupted;
      if (sum.interrupted) return sum;
    }
    for (size_t i = 0; i < points.size(); ++i) {
      PointLooks& looks = points[i];
      const SweepPoint& point = sweep.points[i];
      if (looks.done) continue;
      const bool last = looks.next + 1 == looks.looks.size();
      if (!point.config.until) {
        looks.done = true;
        continue;
      }
      const TrialsLook look = LookAtTrials(PointFolder(run, point), point.config, looks.Trials());
      TellLook(point, look, looks.Trials(),
               last ? std::nullopt : std::optional(looks.looks[looks.next + 1]));
      looks.done = look.enough || last;
      if (looks.done) stopped->push_back({i, looks.Trials(), look});
      if (!looks.done) ++looks.next;
    }
  }
  return sum;
}

std::vector<StoppedTrials> LookAgain(const Sweep& sweep, const std::filesystem::path& run) {
  std::vector<StoppedTrials> stopped;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const std::optional<int> trials = NeededTrials(sweep.points[i], run);
    if (!trials) continue;
    const SweepPoint& point = sweep.points[i];
    stopped.push_back({i, *trials, LookAtTrials(PointFolder(run, point), point.config, *trials)});
  }
  return stopped;
}

std::vector<SweepCell> NeededCells(const Sweep& sweep, const std::filesystem::path& run) {
  std::vector<SweepCell> cells = sweep.cells;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const std::optional<int> trials = NeededTrials(sweep.points[i], run);
    std::erase_if(cells, [&](const SweepCell& cell) {
      return trials && cell.point == i && cell.key.trial > *trials;
    });
  }
  return cells;
}

Sweep WithoutUnneeded(Sweep sweep, const std::filesystem::path& run) {
  sweep.cells = NeededCells(sweep, run);
  return sweep;
}

}  // namespace cosched
