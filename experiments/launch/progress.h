#pragma once
// How far a run is, on stderr: a bar on a terminal (cells done, what runs now and its jobs, time
// left); otherwise a line when a cell has ended, of cells that take less than a second one in each.
// Thread-safe: cells that run side by side each have a Cell.

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "experiments/harness/harness.h"

namespace cosched {

class ProgressLine {
 public:
  // done: cells that an earlier run, which is now resumed, has finished.
  ProgressLine(size_t done, size_t total);
  ~ProgressLine();

  // Progress of one cell at a time, on one thread. point: of a sweep, "" = there is none.
  class Cell final : public ProgressObserver {
   public:
    Cell(ProgressLine* line, std::string point) : line_(*line), point_(std::move(point)) {}
    ~Cell() override;
    void OnCellStarted(const CellKey& key, int jobs) override;
    void OnJobsDone(int jobs) override;
    void OnCellEnded(const CellKey& key, const std::string& problem) override;

   private:
    friend class ProgressLine;
    ProgressLine& line_;
    const std::string point_;
    std::string name_;
    std::chrono::steady_clock::time_point started_;
    int jobs_ = 0;
    std::atomic<int> jobs_done_ = 0;
  };

  // Cells that were done elsewhere: all of these are, so many now.
  void OnCellsDone(size_t done);

 private:
  using SteadyClock = std::chrono::steady_clock;
  void Begin(const Cell* cell);
  void End(const Cell* cell, const std::string& problem);
  void Drop(const Cell* cell);  // The cell runs no more, done or not.
  void DrawSometimes();
  void Draw();
  void Clear() const;
  bool TellsEnd();
  std::string Running() const;
  std::string TimeLeft() const;

  static constexpr std::chrono::seconds kBetweenLines{1};

  const bool terminal_;
  const size_t done_before_;
  const size_t total_;
  const SteadyClock::time_point started_ = SteadyClock::now();
  std::atomic<SteadyClock::rep> drawn_ = 0;  // When, since the clock's epoch.

  std::mutex mutex_;                                         // Guards all below.
  SteadyClock::time_point last_end_ = started_;              // When a cell ended last, …
  SteadyClock::time_point told_ = started_ - kBetweenLines;  // … and when one was told of.
  size_t done_;
  std::vector<const Cell*> running_;
};

}  // namespace cosched
