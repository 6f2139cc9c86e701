#include "experiments/analysis/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "experiments/analysis/baseline_table.h"
#include "experiments/analysis/compared_sides.h"
#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/policy_rows.h"
#include "experiments/analysis/run_effects.h"
#include "experiments/analysis/service_table.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

// "36 cells", "6 simulated cells (profile example.json)", "12 cells, 6 of them simulated (…)".
std::string CellsText(const ComparedCells& cells) {
  if (cells.simulated == 0) return Counted(cells.cells, "cell");
  const std::string basis =
      fmt::format("({} {})", cells.profiles.size() == 1 ? "profile" : "profiles",
                  fmt::join(cells.profiles, ", "));
  if (cells.simulated == cells.cells)
    return fmt::format("{} {}", Counted(cells.cells, "simulated cell"), basis);
  return fmt::format("{}, {} of them simulated {}", Counted(cells.cells, "cell"), cells.simulated,
                     basis);
}

std::string Title(const ComparedCells& cells) {
  std::string text = fmt::format(
      "{} = {} x {} x {}\n", CellsText(cells),
      cells.policies.size() == 1 ? "1 policy" : fmt::format("{} policies", cells.policies.size()),
      cells.elasticities.size() == 1 ? "1 elasticity"
                                     : fmt::format("{} elasticities", cells.elasticities.size()),
      Counted(cells.trials, "trial"));
  for (const std::string& unlike : cells.runs.front().unlike_cores)
    text += fmt::format("on {}\n", unlike);
  if (cells.RepeatsOneTrace()) {
    text += Wrapped(
        "", fmt::format("{} repetitions of ONE trace: intervals and p are about {}, not "
                        "about other workloads",
                        cells.trials,
                        cells.simulated == cells.cells ? "the model's noise" : "the machine"));
  }
  return text;
}

std::string Glossary() {
  return R"(
  makespan    from the first arrival to the last end of a job
  turnaround  from a job's arrival to its end: mean of a trial's jobs, and p95, which 5 % of them exceed
  max wait    the longest time from a job's arrival to its start
  jobs/h      finished jobs over makespan
  used        CPU time of compute threads, less what they spun, over cores x makespan
  oversub     runnable compute threads beyond the cores they may use, over those cores, by time
  resizes     changes of a started job's number of cores, a trial
  lost        jobs that failed, were rejected or cancelled, all trials
  experiments/README.md has the definitions
)";
}

// The medians of every policy, one block an elasticity.
std::string MedianTables(const ComparedCells& cells) {
  std::set<int> trials;
  for (const CellGroup& group : cells.groups) trials.insert(static_cast<int>(group.Shown().size()));
  std::string text = fmt::format("\nmedian over trials{}\n", LevelsText(trials));
  for (const Elasticity elasticity : cells.elasticities) text += PolicyRows(cells, elasticity);
  return text;
}

std::string OneSide(const ComparedCells& cells, const std::vector<std::string>& notes,
                    const ComparisonOptions& options) {
  std::string text = Title(cells);
  std::set<int> pairs;
  const std::string baselines = BaselineTables(cells, BaselineOf(cells, options), &pairs);
  std::string elasticities;
  for (const Elasticity elasticity : cells.elasticities) {
    if (elasticity != Elasticity::kMalleable)
      elasticities += ElasticityTable(cells, elasticity, &pairs);
  }
  text += baselines + elasticities + EffectLegend(pairs) + MedianTables(cells);
  if (options.explain) text += Glossary();
  return text + ServiceTable(cells) + ComparisonNotesText(cells, notes);
}

std::string SideBySide(const Comparison& comparison, const ComparisonOptions& options) {
  const std::vector<ComparedSide>& sides = comparison.sides;
  std::string text;
  for (size_t i = 0; i < sides.size(); ++i) {
    const ComparedCells& cells = sides[i].cells;
    text += fmt::format("{}{}: {}\n", i == 0 ? "" : "\n", SideName(i), RunNames(cells.runs));
    text += Title(cells);
    // Only where it is asked for: the table is about the sides.
    if (!options.baseline.empty()) {
      std::set<int> pairs;
      text += BaselineTables(cells, options.baseline, &pairs);
      text += EffectLegend(pairs);
    }
    text += MedianTables(cells) + ServiceTable(cells) + ComparisonNotesText(cells, {});
  }
  for (size_t i = 1; i < sides.size(); ++i) {
    text +=
        "\n" + SideEffectsTable(EffectsBetween(sides[0].cells, sides[i].cells), "A", SideName(i));
    text += Wrapped("  *", WhyNotPooledText(comparison, i));
  }
  for (const std::string& note : comparison.notes) text += Wrapped("  *", note);
  if (options.explain) text += Glossary();
  return text;
}

}  // namespace

ComparisonReport CompareRuns(const std::vector<std::filesystem::path>& paths,
                             const ComparisonOptions& options) {
  const Comparison comparison = ReadComparison(paths, options);
  ComparisonReport report;
  report.damaged = comparison.damaged;
  for (const std::string& copy : comparison.copies) report.text += Wrapped("", copy);
  report.text += comparison.sides.size() == 1
                     ? OneSide(comparison.sides.front().cells, comparison.notes, options)
                     : SideBySide(comparison, options);
  report.gates = GatesOfSides(comparison);
  for (const ComparedSide& side : comparison.sides)
    if (options.detail) report.text += "\n" + DetailTable(side.cells);
  return report;
}

std::string ComparisonTable(const std::filesystem::path& run) {
  return CompareRuns({run}, {}).text;
}

}  // namespace cosched
