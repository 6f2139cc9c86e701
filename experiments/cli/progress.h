#pragma once
// How far a run is, on stderr: a bar on a terminal (cells done, current cell, its jobs, time left),
// a line a cell otherwise.

#include <chrono>
#include <string>

#include "experiments/harness.h"

namespace cosched {

class ProgressLine final : public ProgressObserver {
 public:
  // done: cells that an earlier run, which is now resumed, has finished.
  ProgressLine(size_t done, size_t total);
  ~ProgressLine() override;

  void OnPoint(const std::string& name);  // Of a sweep: the cells that follow are its own.
  void OnCellStarted(const CellKey& key, int jobs) override;
  void OnJobsDone(int jobs) override;
  void OnCellEnded(const CellKey& key, const std::string& problem) override;

 private:
  using SteadyClock = std::chrono::steady_clock;
  void Draw() const;
  void Clear() const;
  const char* Jobs() const;
  std::string TimeLeft() const;
  std::string Name(const CellKey& key) const;

  const bool terminal_;
  const size_t done_before_;
  const size_t total_;
  const SteadyClock::time_point started_ = SteadyClock::now();
  SteadyClock::time_point cell_started_;
  SteadyClock::time_point last_end_ = started_;  // Of a cell.
  size_t done_;
  std::string point_;
  std::string cell_;
  int jobs_ = 0;
  int jobs_done_ = 0;
};

}  // namespace cosched
