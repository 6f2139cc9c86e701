#include "experiments/sweep_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "experiments/comparison_cells.h"
#include "experiments/paired_effects.h"
#include "experiments/table_text.h"

namespace cosched {
namespace {

std::string Row(const std::string& point, size_t width, const Group& group) {
  const auto text = [&group](auto metric, std::string (*format)(double)) {
    return MedianText(group.Values(metric), format, 5);
  };
  return fmt::format(
      "{}{:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} {:<19} {:<15} {:<15} {:>4}\n",
      group.LostJobs() > 0 || !group.failed.empty() ? "! " : "  ", point, width, group.policy,
      ToString(group.elasticity), group.Shown().size(), text(&CellSummary::makespan_s, Number),
      text(&CellSummary::mean_execution_s, Number), text(&CellSummary::images_per_s, Number),
      text(&CellSummary::core_utilization, Percent), text(&CellSummary::oversubscription, Percent),
      group.LostJobs());
}

// What makes figures doubtful, by what is said of them.
class SweepNotes {
 public:
  void Add(const std::string& point, const Group& group) {
    if (!group.cells.empty() && group.Shown().size() < group.cells.size()) {
      said_["figures are of the trials that lost no job"].push_back(NameOf(point, group));
    } else if (group.LostJobs() > 0) {
      said_["LOST JOBS in every trial: not to be compared"].push_back(NameOf(point, group));
    }
    for (const ComparedCell& cell : group.failed)
      said_["FAILED CELL, left out: " + cell.summary.reason].push_back(point + "/" + cell.name);
    for (const ComparedCell& cell : group.cells) {
      for (const std::string& mark : cell.summary.marks)
        said_["MARKED: " + mark].push_back(point + "/" + cell.name);
    }
  }
  std::string Text() const {
    std::string text;
    for (const auto& [what, where] : said_)
      text += Wrapped("  *", fmt::format("{}: {}", what, fmt::join(where, ", ")));
    return text;
  }

 private:
  static std::string NameOf(const std::string& point, const Group& group) {
    return fmt::format("{}/{}/{}", point, group.policy, ToString(group.elasticity));
  }
  std::map<std::string, std::vector<std::string>> said_;
};

std::string LevelsText(const std::set<size_t>& trials) {
  std::vector<std::string> levels;
  for (const size_t count : trials) {
    const std::string level =
        LevelText(MedianInterval(std::vector<double>(count, 0)), static_cast<int>(count));
    if (level.empty()) continue;
    levels.push_back(level.starts_with("range") ? level
                                                : fmt::format("{} trials: {}", count, level));
  }
  return levels.empty() ? "" : fmt::format(" [{}]", fmt::join(levels, "; "));
}

}  // namespace

std::string SweepTable(const std::vector<std::filesystem::path>& points) {
  size_t width = 5;
  for (const std::filesystem::path& point : points)
    width = std::max(width, point.filename().string().size());
  std::string rows;
  std::set<size_t> trials;
  SweepNotes notes;
  for (const std::filesystem::path& point : points) {
    const std::string name = point.filename().string();
    for (const Group& group : ReadCells({ReadComparedRun(point)}).groups) {
      rows += Row(name, width, group);
      trials.insert(group.Shown().size());
      notes.Add(name, group);
    }
  }
  return fmt::format(
             "median over trials{}\n\n  {:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} {:<19} {:<15} "
             "{:<15} {:>4}\n",
             LevelsText(trials), "point", width, "policy", "class", "trials", "makespan s",
             "execution s", "images/s", "used %", "oversub %", "lost") +
         rows + notes.Text();
}

}  // namespace cosched
