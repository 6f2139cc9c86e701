#include "experiments/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/error.h"
#include "experiments/comparison_cells.h"
#include "experiments/service_table.h"
#include "experiments/statistics.h"
#include "experiments/table_text.h"

namespace cosched {
namespace {

constexpr int kFewTrials = 3;
constexpr size_t kWidth = 110;
constexpr const char* kBaseline = "no-control";

std::string Plural(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string GroupRow(const Group& group, size_t width) {
  std::vector<double> resizes;
  int failed = 0;
  for (const ComparedCell& cell : group.cells) {
    resizes.push_back(cell.summary.resizes);
    failed += cell.summary.failed;
  }
  for (const ComparedCell& cell : group.failed) failed += cell.summary.failed;
  const auto text = [&group](auto metric, auto format, int digits) {
    return MedianText(group.Values(metric), format, digits);
  };
  return fmt::format("{:<{}} {:<17} {:<17} {:<16} {:<13} {:<13} {:>7} {:>4}\n", group.policy, width,
                     text(&CellSummary::makespan_s, Number, 5),
                     text(&CellSummary::mean_turnaround_s, Number, 5),
                     text(&CellSummary::throughput_jobs_per_hour, Number, 4),
                     text(&CellSummary::core_utilization, Percent, 3),
                     text(&CellSummary::oversubscription, Percent, 3),
                     resizes.empty() ? "-" : fmt::format("{:.0f}", Median(resizes)), failed);
}

// "strict 2, max-prop 1": how often each policy was best (ties count for all), of the trials in
// which at least two were there to compare.
std::string WinsLine(const ComparedCells& cells, Elasticity elasticity, const char* title,
                     double CellSummary::*metric) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, std::string>>> trials;
  for (const std::string& policy : cells.policies) {
    const Group* group = cells.Find(policy, elasticity);
    if (group == nullptr) continue;
    for (const ComparedCell& cell : group->cells) {
      trials[cell.trial].emplace_back(cell.summary.*metric, policy);
    }
  }
  std::map<std::string, int> wins;
  int compared = 0;
  for (const auto& [trial, entries] : trials) {
    if (entries.size() < 2) continue;
    ++compared;
    const double best = std::min_element(entries.begin(), entries.end())->first;
    for (const auto& [value, policy] : entries) wins[policy] += value == best;
  }
  if (compared == 0) return "";
  std::string text;
  for (const std::string& policy : cells.policies) {
    if (wins[policy] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", policy, wins[policy]);
  }
  return fmt::format("  wins by {}, of {}: {}\n", title, Plural(compared, "trial"), text);
}

std::string ElasticityBlock(const ComparedCells& cells, Elasticity elasticity) {
  std::string text =
      fmt::format("\n{:<{}} {:<17} {:<17} {:<16} {:<13} {:<13} {:>7} {:>4}\n", ToString(elasticity),
                  cells.NameWidth(), "   makespan s", "   turnaround s", "   jobs/h", "  used %",
                  "  oversub %", "resizes", "fail");
  for (const std::string& policy : cells.policies) {
    const Group* group = cells.Find(policy, elasticity);
    if (group != nullptr) text += GroupRow(*group, cells.NameWidth());
  }
  text += WinsLine(cells, elasticity, "makespan", &CellSummary::makespan_s);
  text += WinsLine(cells, elasticity, "mean turnaround", &CellSummary::mean_turnaround_s);
  return text;
}

std::string EffectText(const Group& malleable, const Group& other, double CellSummary::*metric) {
  const std::vector<double> a = malleable.Values(metric), b = other.Values(metric);
  const double base = Median(b);
  return fmt::format("{:>7} {:>+7.2f} {:>7.3f}",
                     base > 0 ? fmt::format("{:.3f}", Median(a) / base) : "-", CliffsDelta(a, b),
                     MannWhitneyU(a, b).p);
}

// Malleable tenants against those of another class, policy by policy.
std::string EffectBlock(const ComparedCells& cells, Elasticity other) {
  std::string rows;
  for (const std::string& policy : cells.policies) {
    const Group* malleable = cells.Find(policy, Elasticity::kMalleable);
    const Group* base = cells.Find(policy, other);
    if (malleable == nullptr || base == nullptr) continue;
    if (malleable->cells.empty() || base->cells.empty()) continue;
    rows += fmt::format("{:<{}}", policy, cells.NameWidth());
    for (const auto metric : {&CellSummary::makespan_s, &CellSummary::mean_turnaround_s,
                              &CellSummary::mean_execution_s}) {
      rows += fmt::format("   {}", EffectText(*malleable, *base, metric));
    }
    rows += '\n';
  }
  if (rows.empty()) return "";
  std::string text = fmt::format(
      "\nmalleable : {}   (ratio of medians, below 1 = malleable is shorter; ", ToString(other));
  text += "Cliff's delta; Mann-Whitney p)\n" + std::string(16, ' ');
  for (const char* title : {"makespan", "turnaround", "execution"}) {
    text += fmt::format("   {:>7} {:>7} {:>7}", title, "delta", "p");
  }
  return text + "\n" + rows;
}

// "-" where nobody counted.
std::string DetailRow(const Group& group, size_t width) {
  const auto text = [&group](auto metric, auto format, int digits) {
    return MedianText(group.Values(metric), format, digits);
  };
  const auto milliseconds = [](double seconds) { return Number(seconds * 1e3); };
  return fmt::format("{:<{}} {:<15} {:<18} {:<17} {:<14} {:<13} {}\n", group.policy, width,
                     text(&CellSummary::worst_tenant_oversubscription, Percent, 4),
                     text(&CellSummary::runqueue_wait_s_per_core_s, milliseconds, 5),
                     text(&CellSummary::involuntary_switches_per_core_s, Number, 5),
                     text(&CellSummary::migrations_per_core_s, Number, 5),
                     text(&CellSummary::throttled_s_per_core_s, milliseconds, 5),
                     text(&CellSummary::pressure_s_per_core_s, milliseconds, 5));
}

class Notes {
 public:
  // Breaks at words; what follows the first line is indented.
  void Add(const std::string& note) {
    std::string line = "  *";
    size_t begin = 0;
    while (begin < note.size()) {
      const size_t end = std::min(note.find(' ', begin), note.size());
      if (line.size() + 1 + end - begin > kWidth) {
        text_ += line + "\n";
        line = "   ";
      }
      line += " " + note.substr(begin, end - begin);
      begin = end + 1;
    }
    text_ += line + "\n";
  }
  std::string Text() const { return text_.empty() ? "" : "\n" + text_; }

 private:
  std::string text_;
};

std::string CellName(const Group& group, const ComparedCell& cell) {
  return ToString(CellKey{group.policy, group.elasticity, cell.trial.second});
}

// Did the threads of malleable tenants stay within their cores?
void AddMalleableNote(const ComparedCells& cells, Notes* notes) {
  int64_t samples = 0, exceeding = 0;
  int worst = 0;
  std::string where;
  for (const Group& group : cells.groups) {
    if (group.elasticity != Elasticity::kMalleable) continue;
    for (const ComparedCell& cell : group.cells) {
      samples += cell.excess.samples;
      exceeding += cell.excess.exceeding;
      if (cell.excess.worst > worst) where = CellName(group, cell);
      worst = std::max(worst, cell.excess.worst);
    }
  }
  if (samples == 0) return;
  if (exceeding == 0) {
    notes->Add(
        fmt::format("malleable tenants never had more runnable compute threads than cores granted "
                    "({} samples between resizes)",
                    samples));
  } else {
    notes->Add(fmt::format(
        "WARNING: malleable tenants had more runnable compute threads than cores granted in {} of "
        "{} samples, at worst {} more ({})",
        exceeding, samples, worst, where));
  }
}

void AddBaselineNote(const ComparedCells& cells, Notes* notes) {
  const Group* group = cells.Find(kBaseline, Elasticity::kRigid);
  if (group == nullptr || group->cells.empty()) return;
  const std::vector<double> values = group->Values(&CellSummary::oversubscription);
  if (values.empty()) return;
  const auto positive = std::count_if(values.begin(), values.end(), [](double v) { return v > 0; });
  const bool all = positive == static_cast<std::ptrdiff_t>(values.size());
  notes->Add(
      fmt::format("{}{} with rigid tenants oversubscribes the cores (> 0) in {} of {}: median {} %",
                  all ? "" : "WARNING: ", kBaseline, positive,
                  Plural(static_cast<int64_t>(values.size()), "trial"), Percent(Median(values))));
}

void AddTrialNotes(const ComparedCells& cells, Notes* notes) {
  size_t fewest = SIZE_MAX;
  for (const Group& group : cells.groups) {
    if (!group.cells.empty()) fewest = std::min(fewest, group.cells.size());
  }
  if (fewest < kFewTrials) {
    notes->Add(
        fmt::format("FEW TRIALS: only {} for some rows; intervals and p mean little below {}",
                    fewest, kFewTrials));
  } else if (fewest == kFewTrials) {
    notes->Add("3 trials: an interval is about the range of the three; no p can be below 0.10");
  }
  if (cells.runs > 1) notes->Add(fmt::format("{} runs are pooled", cells.runs));
}

void AddFailureNotes(const ComparedCells& cells, Notes* notes) {
  std::map<std::string, std::vector<std::string>> marks;
  for (const Group& group : cells.groups) {
    for (const ComparedCell& cell : group.failed) {
      notes->Add(fmt::format("FAILED CELL, left out of every figure: {}: {}", CellName(group, cell),
                             cell.summary.reason));
    }
    for (const ComparedCell& cell : group.cells) {
      if (cell.summary.failed > 0) {
        notes->Add(fmt::format("FAILED JOBS: {} of {} in {}", cell.summary.failed,
                               cell.summary.jobs, CellName(group, cell)));
      }
      for (const std::string& mark : cell.summary.marks) {
        marks[mark].push_back(CellName(group, cell));
      }
    }
  }
  for (const auto& [mark, where] : marks) {
    const std::string others =
        where.size() > 1 ? fmt::format(" and {} more", where.size() - 1) : "";
    notes->Add(fmt::format("MARKED: {} ({}{})", mark, where.front(), others));
  }
}

// "36 cells", "6 simulated cells (profile example.json)", "12 cells, 6 of them simulated (…)".
std::string CellsText(const ComparedCells& cells) {
  if (cells.simulated == 0) return Plural(cells.cells, "cell");
  const std::string basis =
      fmt::format("({} {})", cells.profiles.size() == 1 ? "profile" : "profiles",
                  fmt::join(cells.profiles, ", "));
  if (cells.simulated == cells.cells)
    return fmt::format("{} {}", Plural(cells.cells, "simulated cell"), basis);
  return fmt::format("{}, {} of them simulated {}", Plural(cells.cells, "cell"), cells.simulated,
                     basis);
}

std::string Title(const ComparedCells& cells) {
  return fmt::format(
      "{} = {} x {} x {}; median [95 % bootstrap interval] over trials\n", CellsText(cells),
      cells.policies.size() == 1 ? "1 policy" : fmt::format("{} policies", cells.policies.size()),
      cells.elasticities.size() == 1 ? "1 elasticity"
                                     : fmt::format("{} elasticities", cells.elasticities.size()),
      Plural(cells.trials, "trial"));
}

}  // namespace

std::vector<std::filesystem::path> FindRuns(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::filesystem::path> runs;
  for (const std::filesystem::path& path : paths) {
    std::set<std::filesystem::path> found;
    if (!WholeCells(path).empty()) {
      found.insert(path);
    } else {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
        if (entry.is_directory() && !WholeCells(entry.path()).empty()) found.insert(entry.path());
      }
    }
    if (found.empty()) {
      throw InputError({"command line", 0, path.string(), "no finished cell of a run is there",
                        "a folder that `cosched run` made: results/<experiment>/<run>"});
    }
    runs.insert(runs.end(), found.begin(), found.end());
  }
  return runs;
}

std::string ComparisonTable(const std::vector<std::filesystem::path>& runs) {
  const ComparedCells cells = ReadCells(FindRuns(runs));
  std::string text = Title(cells);
  for (const Elasticity elasticity : cells.elasticities) text += ElasticityBlock(cells, elasticity);
  for (const Elasticity elasticity : cells.elasticities) {
    if (elasticity != Elasticity::kMalleable) text += EffectBlock(cells, elasticity);
  }
  text += ServiceTable(cells);
  Notes notes;
  AddMalleableNote(cells, &notes);
  AddBaselineNote(cells, &notes);
  AddTrialNotes(cells, &notes);
  AddFailureNotes(cells, &notes);
  return text + notes.Text();
}

std::string DetailTable(const std::vector<std::filesystem::path>& runs) {
  const ComparedCells cells = ReadCells(FindRuns(runs));
  std::string text =
      "what the kernel counted, per second of a granted core; median [95 % interval]\n";
  for (const Elasticity elasticity : cells.elasticities) {
    text += fmt::format("\n{:<{}} {:<15} {:<18} {:<17} {:<14} {:<13} {}\n", ToString(elasticity),
                        cells.NameWidth(), "worst tenant %", " run-queue wait ms",
                        " switches forced", " migrations", " throttled ms", " pressure ms");
    for (const std::string& policy : cells.policies) {
      const Group* group = cells.Find(policy, elasticity);
      if (group != nullptr) text += DetailRow(*group, cells.NameWidth());
    }
  }
  return text;
}

}  // namespace cosched
