#include "experiments/analysis/marked_cells.h"

#include <algorithm>

#include "engine/base/error.h"
#include "experiments/analysis/metrics.h"
#include "experiments/records/cell_file.h"

namespace cosched {
namespace {

bool HasMarkOfMachine(const CellSummary& cell, const ExperimentConfig& config) {
  if (config.backend == Backend::kSimulated) return false;
  const std::vector<std::string> of_trace = TraceSourceNotes(config.trace.sources);
  return std::any_of(cell.marks.begin(), cell.marks.end(), [&of_trace](const std::string& mark) {
    return std::find(of_trace.begin(), of_trace.end(), mark) == of_trace.end();
  });
}

bool IsWorthRedoing(const std::filesystem::path& run, const CellKey& key,
                    const ExperimentConfig& config) {
  if (!std::filesystem::exists(CellFolder(run, key) / kCellFileName)) return true;
  try {
    const CellSummary cell = Summarize(run, key);
    return cell.status != "done" || cell.failed > 0 || HasMarkOfMachine(cell, config);
  } catch (const InputError&) {
    return true;
  }
}

}  // namespace

std::vector<SweepCell> MarkedCells(const std::filesystem::path& run, const Sweep& sweep) {
  std::vector<SweepCell> marked;
  for (const SweepCell& cell : sweep.cells) {
    const SweepPoint& point = sweep.points[cell.point];
    if (IsWorthRedoing(PointFolder(run, point), cell.key, point.config)) marked.push_back(cell);
  }
  return marked;
}

}  // namespace cosched
