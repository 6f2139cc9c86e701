#pragma once
// What the terminal shows, as lines of text with styles: a pure function of what is seen, for
// terminals of any size and without one. ASCII only, so that any terminal shows it. Thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "experiments/watch/cell_moment.h"

namespace cosched {

enum class FrameStyle { kPlain, kTitle, kHead, kGood, kBad, kFaint, kBar };

struct FrameSpan {
  std::string text;
  FrameStyle style = FrameStyle::kPlain;
};
using FrameLine = std::vector<FrameSpan>;
using Frame = std::vector<FrameLine>;

// All that a frame shows.
struct FrameSubject {
  std::string experiment, run;  // The run's folder by its last name.
  std::string status;           // As RunFollower has it.
  size_t cells = 0, done = 0, failed = 0, running = 0;
  size_t marked = 0;     // Of those that are done.
  bool at_most = false;  // It may have trials enough before all of them.
  std::optional<double> seconds_left = {};
  // The cell that is looked at; 0 = there is none yet. From 1.
  size_t cell = 0;
  std::string cell_name = {};          // "equal-share, malleable, trial 1".
  std::string point = {};              // Of a sweep: "jobs=20"; "" = it is of none.
  std::string cell_state = {};         // "runs", "done", "failed: why".
  bool live = false;                   // The moment is now.
  bool at_end = false;                 // Or that of the cell's end.
  std::optional<double> playing = {};  // At so many times its speed.
  double end_s = 0;                    // How long the cell has lasted.
  size_t first_tenant = 0;             // Tenants above it are not shown.
  std::string note = {};               // What else must be known; "" = nothing.
  CellMoment moment = {};
};

// rows: of a terminal; at most so many lines, each of at most `columns` characters. What is no
// terminal's (`rows` = 0) has all tenants and no line of keys.
Frame DrawFrame(const FrameSubject& subject, int columns, int rows);
// The keys and what the columns mean.
Frame DrawHelp(int columns, int rows);

// Line by line, without styles and spaces at the ends.
std::string FrameText(const Frame& frame);

}  // namespace cosched
