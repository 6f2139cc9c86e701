#include "experiments/analysis/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/records_integrity.h"
#include "experiments/analysis/table_text.h"
#include "experiments/analysis/treatment_table.h"

namespace cosched {
namespace {

std::string RatioText(const TreatmentEffect& effect) {
  if (!effect.tested) return fmt::format("{:.3f}", effect.ratio);
  return fmt::format("{:.3f} [{:.3f} {:.3f}]", effect.ratio, effect.interval.low,
                     effect.interval.high);
}

std::string PointRow(const std::string& point, size_t width, const CellGroup& group) {
  const auto text = [&group](auto metric, std::string (*format)(double)) {
    return MedianText(group.Values(metric), format, 5);
  };
  return fmt::format("{}{:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} {:<19} {:<15} {:<15} {:>4}\n",
                     group.LostJobs() > 0 || !group.failed.empty() ? "! " : "  ", point, width,
                     group.policy, ToString(group.elasticity), group.Shown().size(),
                     text(&CellSummary::makespan_s, RoundedText),
                     text(&CellSummary::mean_turnaround_s, RoundedText),
                     text(&CellSummary::images_per_s, RoundedText),
                     text(&CellSummary::core_utilization, ShareText),
                     text(&CellSummary::oversubscription, ShareText), group.LostJobs());
}

// What malleable tenants change against those of another class on the same traces; "" where a point
// has not both.
std::string ChangeRows(const std::string& point, size_t width, const ComparedCells& cells) {
  std::string rows;
  for (const Elasticity other : cells.elasticities) {
    if (other == Elasticity::kMalleable) continue;
    const std::optional<TreatmentTable> table = CompareElasticities(cells, other);
    if (!table) continue;
    for (const TreatmentRow& row : table->rows) {
      if (!row.Compared()) continue;
      rows += fmt::format("  {:<{}}  {:<16} {:<9}", point, width, row.name, ToString(other));
      for (const std::optional<TreatmentEffect>& effect : row.effects)
        rows += fmt::format(" {:<21}", effect ? RatioText(*effect) : "-");
      rows += '\n';
    }
  }
  return rows;
}

// What makes figures doubtful, by what is said of them.
class SweepNotes {
 public:
  void Add(const std::string& point, const CellGroup& group) {
    if (!group.cells.empty() && group.Shown().size() < group.cells.size()) {
      said_["figures are of the trials that lost no job"].push_back(NameOf(point, group));
    } else if (group.LostJobs() > 0) {
      said_["LOST JOBS in every trial: not to be compared"].push_back(NameOf(point, group));
    }
    for (const ComparedCell& cell : group.failed)
      said_["FAILED CELL, left out: " + cell.summary.reason].push_back(point + "/" + cell.name);
    for (const auto& [mark, cells] : CellsByMark(group)) {
      for (const std::string& name : CellNames(group, cells))
        said_["MARKED: " + mark].push_back(fmt::format("{}/{}", point, name));
    }
  }
  void AddRun(const std::string& point, const ComparedRun& run) {
    for (const std::string& unlike : run.unlike_cores) said_["on " + unlike].push_back(point);
    for (const std::string& doubt : RunDoubts(run)) said_[doubt].push_back(point);
  }
  void AddIntegrity(const std::string& point, const RecordsIntegrity& integrity) {
    for (const std::string& damage : integrity.damages)
      said_["DAMAGED: " + damage].push_back(point);
    if (!integrity.unfinished.empty()) unfinished_.push_back(point);
  }
  void AddUnreadable(const std::string& point, const std::string& cell) {
    said_["left out of every figure: " + cell].push_back(point);
  }
  std::string Text() const {
    std::string text;
    for (const auto& [what, where] : said_)
      text += Wrapped("  *", fmt::format("{}: {}", what, fmt::join(where, ", ")));
    if (!unfinished_.empty()) {
      text += Wrapped("  *", fmt::format("UNFINISHED: {}; --resume runs what is missing",
                                         fmt::join(unfinished_, ", ")));
    }
    return text;
  }

 private:
  static std::string NameOf(const std::string& point, const CellGroup& group) {
    return fmt::format("{}/{}/{}", point, group.policy, ToString(group.elasticity));
  }
  std::map<std::string, std::vector<std::string>> said_;
  std::vector<std::string> unfinished_;  // Points.
};

}  // namespace

ComparisonReport SweepTable(const std::vector<std::filesystem::path>& points) {
  size_t width = 5;
  for (const std::filesystem::path& point : points)
    width = std::max(width, point.filename().string().size());
  std::string rows, changes;
  std::set<int> trials;
  SweepNotes notes;
  std::vector<JudgedGates> gates;
  bool damaged = false;
  for (const std::filesystem::path& point : points) {
    const std::string name = point.filename().string();
    const ComparedRun run = ReadComparedRun(point);
    const ComparedCells cells = ReadCells({run});
    for (const CellGroup& group : cells.groups) {
      rows += PointRow(name, width, group);
      trials.insert(static_cast<int>(group.Shown().size()));
      notes.Add(name, group);
    }
    changes += ChangeRows(name, width, cells);
    gates.push_back({name, JudgeGates(cells)});
    notes.AddRun(name, run);
    for (const std::string& cell : cells.unreadable) notes.AddUnreadable(name, cell);
    const RecordsIntegrity integrity = CheckRecords(run);
    notes.AddIntegrity(name, integrity);
    damaged = damaged || !cells.unreadable.empty() || !integrity.damages.empty();
  }
  std::string text =
      fmt::format(
          "median over trials{}\n\n  {:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} {:<19} {:<15} "
          "{:<15} {:>4}\n",
          LevelsText(trials), "point", width, "policy", "class", "trials", "makespan s",
          "turnaround s", "images/s", "used %", "oversub %", "lost") +
      rows;
  if (!changes.empty()) {
    text += fmt::format(
        "\nmalleable : other class, a ratio on the same traces, with the interval of each point by "
        "itself\n\n  {:<{}}  {:<16} {:<9} {:<21} {:<21}\n",
        "point", width, "policy", "other", "makespan", "turnaround");
    text += changes + '\n';
  }
  text += notes.Text();
  return {std::move(text), damaged, std::move(gates)};
}

}  // namespace cosched
