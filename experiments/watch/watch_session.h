#pragma once
// What a person who watches a run looks at: which cell, which instant of it; how keys change that,
// and what follows by itself while the run goes on. Knows no terminal. Used by `cosched watch` on
// one thread.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "experiments/watch/cell_follower.h"
#include "experiments/watch/frame.h"
#include "experiments/watch/run_follower.h"

namespace cosched {

enum class WatchKey {
  kNone,
  kQuit,
  kEarlier,
  kLater,
  kMuchEarlier,
  kMuchLater,
  kBegin,
  kEnd,
  kUp,
  kDown,
  kNextCell,
  kPreviousCell,
  kFirstCell,
  kLastCell,
  kPlay,
  kHelp,
  kBack,  // From the help.
};

class WatchSession {
 public:
  using SteadyClock = RunFollower::SteadyClock;

  // Follows the run; of one that is over it looks at the first cell, at half its time, and of one
  // that was stopped, at the cell that was not finished. Throws InputError if that is no run.
  explicit WatchSession(std::filesystem::path run);

  // As Frames number them, from 1; and seconds of it. Throw InputError (options --cell, --at) if
  // there is none.
  void ChooseCell(size_t number);
  void ChooseTime(double seconds);

  void Refresh(SteadyClock::time_point now);
  void Press(WatchKey key);
  bool Over() const { return quit_; }
  // Until Refresh has something new to show.
  std::chrono::milliseconds Pause() const;
  // As DrawFrame.
  Frame Draw(int columns, int rows) const;

 private:
  void Follow();
  void Look(size_t index);
  void LookBack(size_t index);
  void ChangeCell(int by);
  bool ToCell(std::ptrdiff_t from, int by);
  void MoveTime(double by_s);
  void FindCellAgain();
  void Play(SteadyClock::time_point now);
  bool Running() const { return run_.Status() == "running"; }
  bool CellRuns() const { return Running() && cell_ && !cell_->File(); }
  double End() const { return cell_ ? cell_->Story().End() : 0; }
  double Time() const { return time_.value_or(End()); }
  std::string Note() const;
  std::string NoteOfCell() const;
  std::string CellStateText() const;

  RunFollower run_;
  std::unique_ptr<CellFollower> cell_;
  size_t index_ = 0;             // Of that cell.
  bool follows_ = true;          // It changes to the cell that runs.
  std::optional<double> time_;   // Seconds of the cell; none = the latest.
  std::optional<double> speed_;  // Playing, so many times as fast as it was.
  SteadyClock::time_point refreshed_;
  size_t first_tenant_ = 0;
  bool help_ = false;
  bool quit_ = false;
};

}  // namespace cosched
