#include "experiments/analysis/compared_sides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/records_integrity.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

struct PooledRuns {
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

std::vector<PooledRuns> PoolsOf(const std::vector<ComparedRun>& runs, bool pool) {
  std::vector<PooledRuns> sides;
  for (const ComparedRun& run : runs) {
    const auto fits = [&run, pool](const PooledRuns& side) {
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

// Drops runs that are copies of earlier ones, and says so.
std::vector<ComparedRun> WithoutCopies(const std::vector<std::filesystem::path>& paths,
                                       std::vector<std::string>* told) {
  std::vector<ComparedRun> runs;
  for (const std::filesystem::path& path : paths) {
    ComparedRun run = ReadComparedRun(path);
    const auto same = std::find_if(runs.begin(), runs.end(),
                                   [&run](const auto& other) { return IsCopy(other, run); });
    if (same == runs.end()) {
      runs.push_back(std::move(run));
      continue;
    }
    told->push_back(
        fmt::format("{} has the records of {}, byte by byte: copies are one datum, it is left out",
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
                                        const std::vector<ComparedSide>& sides, bool* damaged) {
  std::vector<std::string> notes;
  for (const ComparedRun& run : runs) {
    const RecordsIntegrity integrity = CheckRecords(run);
    for (const std::string& damage : integrity.damages) notes.push_back("DAMAGED: " + damage);
    *damaged = *damaged || !integrity.damages.empty();
    if (!integrity.unfinished.empty()) notes.push_back("UNFINISHED: " + integrity.unfinished);
  }
  for (const ComparedSide& side : sides) {
    for (const std::string& cell : side.cells.unreadable)
      notes.push_back("left out of every figure: " + cell);
    *damaged = *damaged || !side.cells.unreadable.empty();
  }
  return notes;
}

std::vector<std::string> PoolNotes(const std::vector<ComparedSide>& sides) {
  const std::vector<ComparedRun>& runs = sides.front().cells.runs;
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

Comparison ReadComparison(const std::vector<std::filesystem::path>& paths,
                          const ComparisonOptions& options) {
  Comparison comparison;
  const std::vector<ComparedRun> runs = WithoutCopies(paths, &comparison.copies);
  for (PooledRuns& pool : PoolsOf(runs, options.pool))
    comparison.sides.push_back({ReadSide(pool.runs, options), std::move(pool.why)});
  comparison.notes = IntegrityNotes(runs, comparison.sides, &comparison.damaged);
  for (std::string& note : PoolNotes(comparison.sides)) comparison.notes.push_back(std::move(note));
  return comparison;
}

std::string SideName(size_t index) { return std::string(1, static_cast<char>('A' + index)); }

std::string RunNames(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) names.push_back(run.path.string());
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string WhyNotPooledText(const Comparison& comparison, size_t index) {
  const std::string name = SideName(index);
  std::string why = DifferencesText(comparison.sides[index].why);
  for (size_t at = 0; (at = why.find(" in B", at)) != std::string::npos; at += name.size())
    why.replace(at, 5, " in " + name);
  return fmt::format("A and {} are not pooled (--pool insists): {}", name, why);
}

std::vector<JudgedGates> GatesOfSides(const Comparison& comparison) {
  std::vector<JudgedGates> gates;
  for (const ComparedSide& side : comparison.sides) {
    std::vector<std::string> names;
    for (const ComparedRun& run : side.cells.runs) names.push_back(run.Name());
    gates.push_back({fmt::format("{}", fmt::join(names, ", ")), JudgeGates(side.cells)});
  }
  return gates;
}

// The policy that was asked for, or else the one that the experiment names and that ran.
std::string BaselineOf(const ComparedCells& cells, const ComparisonOptions& options) {
  if (!options.baseline.empty()) return options.baseline;
  const std::string& planned = cells.runs.front().baseline;
  const auto& policies = cells.policies;
  const bool ran = std::find(policies.begin(), policies.end(), planned) != policies.end();
  return ran ? planned : "";
}

}  // namespace cosched
