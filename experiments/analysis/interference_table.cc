#include "experiments/analysis/interference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/records/rows.h"
#include "experiments/records/table.h"

namespace cosched {
namespace {

// The whole cells that recorded it.
std::vector<std::filesystem::path> InterferenceCells(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> cells;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    const std::filesystem::path cell = entry.path().parent_path();
    if (entry.path().filename() == InterferenceRow::kFile && cell.extension() != ".partial")
      cells.push_back(cell);
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

std::string RowsOf(const std::filesystem::path& cell, const std::string& name) {
  struct Loss {
    double all_s = 0;
    std::string culprits;
  };
  std::map<int64_t, Loss> losses;
  RowReader<InterferenceRow> reader(cell, &InterferenceRow::victim, &InterferenceRow::culprit,
                                    &InterferenceRow::waited_s);
  while (const InterferenceRow* row = reader.Next()) {
    Loss& loss = losses[row->victim];
    const bool job = row->culprit != "self" && row->culprit != "other";
    loss.all_s += row->waited_s;
    loss.culprits += fmt::format("  {}{} {:.3f}", job ? "job " : "", row->culprit, row->waited_s);
  }
  std::string text;
  for (const auto& [job, loss] : losses)
    text += fmt::format("{:<32} {:>6} {:>9.3f}  {}\n", name, job, loss.all_s, loss.culprits);
  return text;
}

}  // namespace

std::string InterferenceTable(const std::vector<std::filesystem::path>& runs) {
  std::string rows;
  for (const std::filesystem::path& run : runs) {
    for (const std::filesystem::path& cell : InterferenceCells(run))
      rows += RowsOf(cell, cell.lexically_relative(run).string());
  }
  if (rows.empty()) return "no cell here was run with --interference\n";
  return fmt::format(
             "seconds that compute threads waited for a core, and to whom they lost them\n"
             "\n{:<32} {:>6} {:>9}    {}\n",
             "cell", "job", "waited", "lost to") +
         rows;
}

}  // namespace cosched
