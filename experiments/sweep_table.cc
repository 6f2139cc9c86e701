#include "experiments/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/comparison_cells.h"
#include "experiments/table_text.h"

namespace cosched {
namespace {

std::string Row(const std::string& point, size_t width, const Group& group) {
  int failed = static_cast<int>(group.failed.size());
  for (const ComparedCell& cell : group.cells) failed += cell.summary.failed > 0;
  const auto text = [&group](auto metric, std::string (*format)(double)) {
    return MedianText(group.Values(metric), format, 5);
  };
  return fmt::format(
      "{:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} {:<19} {:<15} {:>4}\n", point, width, group.policy,
      ToString(group.elasticity), group.cells.size(), text(&CellSummary::makespan_s, Number),
      text(&CellSummary::mean_execution_s, Number), text(&CellSummary::images_per_s, Number),
      text(&CellSummary::oversubscription, Percent), failed);
}

}  // namespace

std::string SweepTable(const std::vector<std::filesystem::path>& points) {
  size_t width = 5;
  for (const std::filesystem::path& point : points)
    width = std::max(width, point.filename().string().size());
  std::string text = fmt::format(
      "median [95 % bootstrap interval] over trials\n\n{:<{}}  {:<16} {:<9} {:>6}  {:<19} {:<19} "
      "{:<19} {:<15} "
      "{:>4}\n",
      "point", width, "policy", "class", "trials", "makespan s", "execution s", "images/s",
      "oversub %", "fail");
  std::map<std::string, int> marks;
  for (const std::filesystem::path& point : points) {
    for (const Group& group : ReadCells({point}).groups) {
      text += Row(point.filename().string(), width, group);
      for (const ComparedCell& cell : group.cells) {
        for (const std::string& mark : cell.summary.marks) ++marks[mark];
      }
    }
  }
  for (const auto& [mark, cells] : marks)
    text += fmt::format("  * MARKED: {} (in {} cells)\n", mark, cells);
  return text;
}

}  // namespace cosched
