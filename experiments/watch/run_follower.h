#pragma once
// How far a run is: its cells in the order of running, and which of them are done, from its folder.
// What costs time, as in a sweep of thousands of cells, is looked at the more seldom. Used by
// `cosched watch` on one thread.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiments/records/cell_records.h"

namespace cosched {

enum class CellState {
  kLeft,  // It has not begun.
  kRuns,  // It has; of a run that nobody runs any more it was not finished.
  kDone,
  kFailed,
};

struct WatchedCell {
  CellKey key;
  std::filesystem::path run;  // Its point's folder.
  std::string point;          // Of a sweep; "" = there is none.
  CellState state = CellState::kLeft;
  bool marked = false;  // Of one that is done.
};

class RunFollower {
 public:
  using SteadyClock = std::chrono::steady_clock;

  // Throws InputError if there is no manifest that can be read.
  explicit RunFollower(std::filesystem::path run);

  void Refresh(SteadyClock::time_point now);

  const std::filesystem::path& path() const { return path_; }
  const std::string& Experiment() const { return experiment_; }
  // "running", "done", "failed", or "stopped": not over, and nobody runs it.
  const std::string& Status() const { return status_; }
  // In the order of running; of a sweep point by point.
  const std::vector<WatchedCell>& Cells() const { return cells_; }
  size_t Count(CellState state) const;
  size_t Marked() const;  // Cells.
  // The cell that ended last; nullopt: none has.
  std::optional<size_t> LatestEnded() const { return latest_ended_; }
  // It has trials until an interval is narrow, and may not need all of its cells.
  bool MayStopEarlier() const { return sequential_ && status_ == "running"; }
  // Until all cells are done, by how fast the latest ones ended; nullopt: not known.
  std::optional<double> SecondsLeft() const;

 private:
  void ReadManifest();
  void ReadCells();
  void Look(size_t most_left);
  bool IsRecorded(const WatchedCell& cell) const;  // It has begun and not ended.
  void LookAt(WatchedCell* cell) const;

  const std::filesystem::path path_;
  std::string experiment_;
  std::string status_;
  bool sequential_ = false;
  std::filesystem::file_time_type manifest_time_;
  std::vector<WatchedCell> cells_;
  std::optional<size_t> latest_ended_;
  SteadyClock::time_point next_look_, next_lock_;
  // Of the cells that ended: when their records were whole, the earliest first.
  std::vector<std::filesystem::file_time_type> ends_;
};

}  // namespace cosched
