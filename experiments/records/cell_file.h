#pragma once
// cell.json of a cell's folder: what became of the cell. Written last, so that a folder with one
// holds all its rows. CellRecords writes it; whoever derives figures from records reads it.
// Thread-safe.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/records/cell_records.h"

namespace cosched {

inline constexpr const char* kCellFileName = "cell.json";

struct CellFile {
  std::string status;  // "done" or "failed",
  std::string reason;  // and why.
  CpuSet machine_cores;
  std::optional<int64_t> submitted;    // Jobs; older records do not say.
  std::vector<std::string> marks;      // CellRecords::Mark.
  std::vector<int64_t> services = {};  // The jobs that answer requests, where there are any,
  int64_t requests = 0;                // and how many requests ended; nobody reads it back.
};

std::string CellFileText(const CellKey& key, const CellFile& cell);
// Throws InputError, naming the file, if there is none or it is none.
CellFile ReadCellFile(const std::filesystem::path& cell);

}  // namespace cosched
