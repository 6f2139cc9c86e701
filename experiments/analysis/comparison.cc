#include "experiments/analysis/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "experiments/analysis/baseline_table.h"
#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/policy_rows.h"
#include "experiments/analysis/records_integrity.h"
#include "experiments/analysis/run_effects.h"
#include "experiments/analysis/service_table.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

// Runs that are pooled, "A" if there are others beside them.
struct ComparedSide {
  std::vector<ComparedRun> runs;
  std::vector<std::string> why;  // Not pooled with the first side.
};

// Why two runs can't be pooled; empty if they can.
std::vector<std::string> WhyNotPooled(const ComparedRun& a, const ComparedRun& b) {
  std::vector<std::string> why = DifferencesOf(a, b);
  const int common = CommonTraces(a, b);
  if (!why.empty() || common == 0) return why;
  return {
      fmt::format("{} replayed the same arrivals in both: measurements of one trace are no "
                  "further traces",
                  Counted(common, "trial"))};
}

std::vector<ComparedSide> SidesOf(const std::vector<ComparedRun>& runs, bool pool) {
  std::vector<ComparedSide> sides;
  for (const ComparedRun& run : runs) {
    const auto fits = [&run, pool](const ComparedSide& side) {
      return pool || std::all_of(side.runs.begin(), side.runs.end(), [&run](const auto& other) {
               return WhyNotPooled(other, run).empty();
             });
    };
    const auto side = std::find_if(sides.begin(), sides.end(), fits);
    if (side != sides.end()) {
      side->runs.push_back(run);
    } else {
      std::vector<std::string> why;
      for (size_t i = 0; !sides.empty() && i < sides.front().runs.size() && why.empty(); ++i)
        why = WhyNotPooled(sides.front().runs[i], run);
      sides.push_back({{run}, std::move(why)});
    }
  }
  return sides;
}

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

// The policy that was asked for, or else the one that the experiment names and that ran.
std::string BaselineOf(const ComparedCells& cells, const ComparisonOptions& options) {
  if (!options.baseline.empty()) return options.baseline;
  const std::string& planned = cells.runs.front().baseline;
  const auto& policies = cells.policies;
  const bool ran = std::find(policies.begin(), policies.end(), planned) != policies.end();
  return ran ? planned : "";
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
  return text + ServiceTable(cells) + ComparisonNotes(cells, notes);
}

std::string SideName(size_t index) { return std::string(1, static_cast<char>('A' + index)); }

std::string RunNames(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) names.push_back(run.path.string());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string SideBySide(const std::vector<ComparedSide>& sides,
                       const std::vector<ComparedCells>& cells,
                       const std::vector<std::string>& notes, const ComparisonOptions& options) {
  std::string text;
  for (size_t i = 0; i < sides.size(); ++i) {
    text += fmt::format("{}{}: {}\n", i == 0 ? "" : "\n", SideName(i), RunNames(sides[i].runs));
    text += Title(cells[i]);
    // Only where it is asked for: the table is about the sides.
    if (!options.baseline.empty()) {
      std::set<int> pairs;
      text += BaselineTables(cells[i], options.baseline, &pairs);
      text += EffectLegend(pairs);
    }
    text += MedianTables(cells[i]) + ServiceTable(cells[i]) + ComparisonNotes(cells[i], {});
  }
  for (size_t i = 1; i < sides.size(); ++i) {
    const std::string name = SideName(i);
    text += "\n" + SideEffectsTable(EffectsBetween(cells[0], cells[i]), "A", name);
    std::string why = DifferencesText(sides[i].why);
    for (size_t at = 0; (at = why.find(" in B", at)) != std::string::npos; at += name.size())
      why.replace(at, 5, " in " + name);
    text += Wrapped("  *", fmt::format("A and {} are not pooled (--pool insists): {}", name, why));
  }
  for (const std::string& note : notes) text += Wrapped("  *", note);
  if (options.explain) text += Glossary();
  return text;
}

// Drops runs that are copies of earlier ones, and says so.
std::vector<ComparedRun> WithoutCopies(const std::vector<std::filesystem::path>& paths,
                                       std::string* told) {
  std::vector<ComparedRun> runs;
  for (const std::filesystem::path& path : paths) {
    ComparedRun run = ReadComparedRun(path);
    const auto same = std::find_if(runs.begin(), runs.end(),
                                   [&run](const auto& other) { return IsCopy(other, run); });
    if (same == runs.end()) {
      runs.push_back(std::move(run));
      continue;
    }
    *told += Wrapped("", fmt::format("{} has the records of {}, byte by byte: copies are one "
                                     "datum, it is left out",
                                     path.string(), same->path.string()));
  }
  return runs;
}

ComparedCells ReadSide(const std::vector<ComparedRun>& runs, const ComparisonOptions& options) {
  ComparedCells cells = ReadCells(runs, options.exclude_marked);
  if (cells.groups.empty() && !cells.excluded.empty()) {
    throw InputError(
        {"command line", 0, "--exclude-marked",
         fmt::format("leaves nothing: all {} of {} are marked",
                     Counted(static_cast<int64_t>(cells.excluded.size()), "cell"), RunNames(runs)),
         "runs with cells that are not marked"});
  }
  if (cells.groups.empty() && !cells.unreadable.empty()) {
    throw InputError({"command line", 0, RunNames(runs),
                      "no cell can be read; the first: " + cells.unreadable.front(),
                      "runs of this version of cosched"});
  }
  return cells;
}

// What is wrong with the records of the runs.
std::vector<std::string> IntegrityNotes(const std::vector<ComparedRun>& runs,
                                        const std::vector<ComparedCells>& sides, bool* damaged) {
  std::vector<std::string> notes;
  for (const ComparedRun& run : runs) {
    const RecordsIntegrity integrity = CheckRecords(run);
    for (const std::string& damage : integrity.damages) notes.push_back("DAMAGED: " + damage);
    *damaged = *damaged || !integrity.damages.empty();
    if (!integrity.unfinished.empty()) notes.push_back("UNFINISHED: " + integrity.unfinished);
  }
  for (const ComparedCells& cells : sides) {
    for (const std::string& cell : cells.unreadable)
      notes.push_back("left out of every figure: " + cell);
    *damaged = *damaged || !cells.unreadable.empty();
  }
  return notes;
}

std::vector<std::string> PoolNotes(const std::vector<ComparedSide>& sides) {
  const std::vector<ComparedRun>& runs = sides.front().runs;
  if (sides.size() > 1 || runs.size() < 2) return {};
  std::vector<std::string> why;
  for (size_t i = 1; i < runs.size(); ++i) {
    for (size_t other = 0; other < i && why.empty(); ++other)
      why = WhyNotPooled(runs[other], runs[i]);
  }
  std::string note = fmt::format("{} runs are pooled", runs.size());
  if (!why.empty())
    note += ", because --pool insists, though they are not one experiment: " + DifferencesText(why);
  return {note};
}

}  // namespace

ComparisonReport CompareRuns(const std::vector<std::filesystem::path>& paths,
                             const ComparisonOptions& options) {
  ComparisonReport report;
  const std::vector<ComparedRun> runs = WithoutCopies(paths, &report.text);
  const std::vector<ComparedSide> sides = SidesOf(runs, options.pool);
  std::vector<ComparedCells> cells;
  for (const ComparedSide& side : sides) cells.push_back(ReadSide(side.runs, options));
  std::vector<std::string> notes = IntegrityNotes(runs, cells, &report.damaged);
  for (std::string& note : PoolNotes(sides)) notes.push_back(std::move(note));
  report.text += sides.size() == 1 ? OneSide(cells.front(), notes, options)
                                   : SideBySide(sides, cells, notes, options);
  for (const ComparedCells& side : cells)
    if (options.detail) report.text += "\n" + DetailTable(side);
  return report;
}

std::string ComparisonTable(const std::filesystem::path& run) {
  return CompareRuns({run}, {}).text;
}

}  // namespace cosched
