#include "experiments/analysis/interference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/records/csv.h"

namespace cosched {
namespace {

// Of whole cells only.
std::vector<std::filesystem::path> InterferenceFiles(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run)) {
    const std::filesystem::path& path = entry.path();
    if (path.filename() == "interference.csv" && path.parent_path().extension() != ".partial")
      files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string RowsOf(const std::filesystem::path& file, const std::string& cell) {
  struct Loss {
    double all_s = 0;
    std::string culprits;
  };
  std::map<int64_t, Loss> losses;
  CsvReader reader(file);
  const size_t victim = reader.Column("victim"), culprit = reader.Column("culprit"),
               waited = reader.Column("waited_s");
  while (reader.Next()) {
    Loss& loss = losses[reader.Integer(victim)];
    const std::string_view name = reader.Text(culprit);
    const bool job = name != "self" && name != "other";
    loss.all_s += reader.Number(waited);
    loss.culprits += fmt::format("  {}{} {:.3f}", job ? "job " : "", name, reader.Number(waited));
  }
  std::string text;
  for (const auto& [job, loss] : losses)
    text += fmt::format("{:<32} {:>6} {:>9.3f}  {}\n", cell, job, loss.all_s, loss.culprits);
  return text;
}

}  // namespace

std::string InterferenceTable(const std::vector<std::filesystem::path>& runs) {
  std::string rows;
  for (const std::filesystem::path& run : runs) {
    for (const std::filesystem::path& file : InterferenceFiles(run))
      rows += RowsOf(file, file.parent_path().lexically_relative(run).string());
  }
  if (rows.empty()) return "no cell here was run with --interference\n";
  return fmt::format(
             "seconds that compute threads waited for a core, and to whom they lost them\n"
             "\n{:<32} {:>6} {:>9}    {}\n",
             "cell", "job", "waited", "lost to") +
         rows;
}

}  // namespace cosched
