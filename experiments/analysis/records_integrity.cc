#include "experiments/analysis/records_integrity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <optional>

#include "engine/base/byte_source.h"
#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/records/cell_file.h"
#include "experiments/records/column.h"
#include "experiments/records/csv.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/rows.h"

namespace cosched {
namespace {

constexpr size_t kMostNamedCells = 12;

// "strict/rigid/1, strict/rigid/2 and 10 more".
std::string NamedCells(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kMostNamedCells);
  const std::string list = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  return names.size() == shown ? list : fmt::format("{} and {} more", list, names.size() - shown);
}

// Columns of jobs.csv that are no numbers; one that it does not have today is.
bool IsText(std::string_view name) {
  bool is_text = false;
  ForEachColumn<JobRow>([&is_text, name](size_t, const auto& column) {
    const CellKind kind = KindOf<JobRow>(column);
    if (column.name == name) is_text = kind == CellKind::kText || kind == CellKind::kCores;
  });
  return is_text;
}

// Rows whose every number is one. Throws InputError otherwise.
int64_t ReadableJobs(const std::filesystem::path& cell) {
  CsvReader reader(cell / JobRow::kFile);
  std::vector<size_t> numbers;
  for (size_t column = 0; column < reader.Columns().size(); ++column)
    if (!IsText(reader.Columns()[column])) numbers.push_back(column);
  const size_t state = reader.Column("state");
  int64_t rows = 0;
  while (reader.Next()) {
    ++rows;
    for (const size_t column : numbers)
      if (!reader.Empty(column)) static_cast<void>(reader.Number(column));
    static constexpr std::array kStates = {"finished", "failed", "rejected", "cancelled",
                                           "declined"};
    if (std::find(kStates.begin(), kStates.end(), reader.Text(state)) == kStates.end()) {
      throw InputError({(cell / JobRow::kFile).string(), static_cast<int>(rows) + 1, "state",
                        fmt::format("'{}'", reader.Text(state)),
                        fmt::format("{}", fmt::join(kStates, ", "))});
    }
  }
  return rows;
}

bool EndsWithALine(const std::filesystem::path& file) {
  if (file.extension() == ".gz") {
    const std::unique_ptr<ByteSource> bytes = OpenFile(file);
    std::string block(64 << 10, '\0');
    char last = 0;
    while (const size_t size = bytes->Read(block.data(), block.size())) last = block[size - 1];
    return last == '\n';
  }
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream || stream.tellg() <= 0) return false;
  stream.seekg(-1, std::ios::end);
  return stream.get() == '\n';
}

// Empty if nothing is wrong.
std::vector<std::string> DamagesOfCell(const ComparedRun& run, const CellKey& key) {
  const std::filesystem::path folder = CellFolder(run.path, key);
  std::vector<std::string> damages;
  try {
    const CellFile cell = ReadCellFile(folder);
    const int64_t rows = ReadableJobs(folder);
    if (!cell.submitted) {
      damages.push_back(fmt::format("{}: {} does not say how many jobs were submitted",
                                    ToString(key), kCellFileName));
    } else if (cell.status == "done" && rows != *cell.submitted) {
      damages.push_back(fmt::format("{}: jobs.csv has {} rows, {} jobs were submitted",
                                    ToString(key), rows, *cell.submitted));
    }
  } catch (const InputError& error) {
    damages.push_back(error.what());
  }
  for (const std::string& name : run.records) {
    const std::filesystem::path file = PlainOrCompressed(folder / name);
    try {
      if (!std::filesystem::exists(file)) {
        damages.push_back(fmt::format("{} has no {}", ToString(key), name));
      } else if (!EndsWithALine(file)) {
        damages.push_back(fmt::format("{}: {} is cut off", ToString(key), name));
      }
    } catch (const InputError& error) {  // Compressed data is damaged.
      damages.push_back(error.what());
    }
  }
  return damages;
}

}  // namespace

RecordsIntegrity CheckRecords(const ComparedRun& run) {
  RecordsIntegrity integrity;
  const std::vector<CellKey> whole = WholeCells(run.path);
  if (!run.has_manifest) {
    integrity.damages.push_back(fmt::format(
        "{} has no manifest.json that can be read: nobody knows what was planned", run.Name()));
  }
  std::vector<std::string> missing;
  for (const CellKey& key : run.planned)
    if (!std::binary_search(whole.begin(), whole.end(), key)) missing.push_back(ToString(key));
  if (!missing.empty()) {
    const std::string count =
        fmt::format("{} of {} cells", run.planned.size() - missing.size(), run.planned.size());
    if (run.status == "running") {
      integrity.unfinished =
          fmt::format("{}: {} are there; --resume runs the others", run.Name(), count);
    } else {
      integrity.damages.push_back(fmt::format("{}: {} are there; without cell.json: {}", run.Name(),
                                              count, NamedCells(missing)));
    }
  }
  for (const CellKey& key : whole) {
    std::vector<std::string> damages = DamagesOfCell(run, key);
    integrity.damages.insert(integrity.damages.end(), damages.begin(), damages.end());
  }
  return integrity;
}

RecordsIntegrity CheckRecords(const std::filesystem::path& run) {
  RecordsIntegrity all;
  for (const std::filesystem::path& point : PointFolders(run)) {
    RecordsIntegrity one = CheckRecords(ReadComparedRun(point));
    all.damages.insert(all.damages.end(), one.damages.begin(), one.damages.end());
    if (all.unfinished.empty()) all.unfinished = one.unfinished;
  }
  return all;
}

}  // namespace cosched
