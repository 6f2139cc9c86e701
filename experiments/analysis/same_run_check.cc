#include "experiments/analysis/same_run_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/records_integrity.h"
#include "experiments/analysis/run_effects.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr double kSameRunAlpha = 0.05;

// Refuses a check of what can't differ, or can't show that it does.
void RefuseIdleCheck(const SideEffects& effects) {
  const auto refuse = [](const std::string& problem, const std::string& allowed) {
    throw InputError({"command line", 0, "--aa", problem, allowed});
  };
  double least = 1;
  int pairs = 0;
  for (const SideEffect& row : effects.rows) {
    for (const auto& effect : row.effects) {
      if (!effect || !effect->tested) continue;
      least = std::min(least, effect->least_p);
      pairs = std::max(pairs, effect->pairs);
    }
  }
  if (effects.comparisons == 0) {
    refuse(
        "the runs are copies, or have nothing in common: they cannot differ, which proves "
        "nothing",
        "runs with other seeds and noise, or measured again");
  }
  if (least * effects.comparisons > kSameRunAlpha) {
    refuse(fmt::format("{} cannot show any difference at 5 % over {}", Counted(pairs, "trial"),
                       Counted(effects.comparisons, "comparison")),
           "more trials, or fewer policies");
  }
}

// Damaged records prove nothing, whatever the others say.
void RefuseDamages(const ComparedRun& run, const ComparedCells& cells) {
  std::vector<std::string> damages = CheckRecords(run).damages;
  damages.insert(damages.end(), cells.unreadable.begin(), cells.unreadable.end());
  if (damages.empty()) return;
  throw InputError({"command line", 0, "--aa",
                    fmt::format("{} is damaged: {}", run.path.string(), damages.front()),
                    "two runs whose records are whole"});
}

// Adds the verdict.
void Judge(const SideEffects& effects, SameRunCheck* check) {
  std::vector<std::string> differing;
  double smallest = 1, spread = 0;
  int pairs = 0;
  for (const SideEffect& row : effects.rows) {
    if (row.unalike) differing.push_back(row.name + " by lost jobs or failed cells");
    for (size_t m = 0; m < row.effects.size(); ++m) {
      if (!row.effects[m] || !row.effects[m]->tested) continue;
      smallest = std::min(smallest, row.corrected[m]);
      spread = std::max(spread, row.effects[m]->spread);
      pairs = std::max(pairs, row.effects[m]->pairs);
      if (row.corrected[m] < kSameRunAlpha)
        differing.push_back(row.name + (m == 0 ? " by makespan" : " by mean turnaround"));
    }
  }
  check->differs = !differing.empty();
  if (check->differs) {
    check->text += Wrapped(
        "", fmt::format("A/A FAILED: two runs of the same thing differ (at 5 %, {}) in: {}",
                        Counted(effects.comparisons, "comparison"), fmt::join(differing, ", ")));
    return;
  }
  const auto found = DetectableDifference(spread, pairs, kSameRunAlpha / effects.comparisons);
  check->text += Wrapped(
      "",
      fmt::format("A/A passed: none of {} differs at 5 % (smallest corrected p {}){}",
                  Counted(effects.comparisons, "comparison"), PText(smallest),
                  found ? fmt::format("; a difference of {:.1f} % would have been found in four "
                                      "of five such checks",
                                      *found * 100)
                        : ""));
}

}  // namespace

SameRunCheck CheckSameRuns(const std::filesystem::path& a, const std::filesystem::path& b,
                           bool exclude_marked) {
  const ComparedRun first = ReadComparedRun(a), second = ReadComparedRun(b);
  std::vector<std::string> differences = DifferencesOf(first, second);
  std::erase_if(differences, [](const std::string& key) { return key.starts_with("build."); });
  if (!differences.empty()) {
    throw InputError({"command line", 0, "--aa",
                      "the runs are not of the same thing: " + DifferencesText(differences),
                      "two runs of one experiment on one machine"});
  }
  if (IsCopy(first, second)) {
    throw InputError({"command line", 0, "--aa",
                      "the runs' records are the same, byte by byte, which proves nothing",
                      "runs with other seeds and noise, or measured again"});
  }
  const ComparedCells cells_a = ReadCells({first}, exclude_marked),
                      cells_b = ReadCells({second}, exclude_marked);
  RefuseDamages(first, cells_a);
  RefuseDamages(second, cells_b);
  const SideEffects effects = EffectsBetween(cells_a, cells_b);
  RefuseIdleCheck(effects);
  SameRunCheck check{.text = fmt::format("A: {}\nB: {}\n", a.string(), b.string()),
                     .differs = false};
  check.text += SideEffectsTable(effects, "A", "B");
  for (const auto& [run, side] : {std::pair{&first, "A"}, std::pair{&second, "B"}}) {
    for (const std::string& doubt : RunDoubts(*run))
      check.text += Wrapped("  *", fmt::format("{}: {}", side, doubt));
  }
  Judge(effects, &check);
  return check;
}

}  // namespace cosched
