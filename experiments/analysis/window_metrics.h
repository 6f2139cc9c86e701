#pragma once
// How often a service's mean response in a window was above its objective, from its requests and
// objectives.csv (experiments/README.md, Metrics, defines the figures). Two ways of counting: by
// the windows that policies are told of, and as ROMA's authors do it (the published code of Baresi,
// Quattrocchi, Rasi, ICSOC 2021: ten windows together, unweighted, 1.1 times the objective). Pure;
// called by request_metrics.cc. Times in whole microseconds.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cosched {

// Times are written to the microsecond, so that these are exact.
inline int64_t WholeMicroseconds(double seconds) { return std::llround(seconds * 1e6); }

struct WindowSummary {
  int64_t windows = 0;
  int64_t violated = 0;
  int64_t tens = 0;            // Windows of ten.
  int64_t tens_violated = 0;   // By more than a tenth.
  double worst_window_ms = 0;  // The largest mean.
};

// The objectives of one service and how long its windows are.
struct WindowObjectives {
  int64_t window_us = 0;
  std::vector<std::pair<int64_t, int64_t>> objectives_us;  // Since when, which; by time.
};

// By service; none where the cell has no objectives.csv. Throws InputError naming file and line of
// what is malformed.
std::map<std::string, WindowObjectives, std::less<>> ReadObjectives(
    const std::filesystem::path& cell);

class WindowSums {
 public:
  explicit WindowSums(WindowObjectives objectives) : objectives_(std::move(objectives)) {}
  // answered: nullopt = dropped; it waits for ever.
  void Add(int64_t due_us, std::optional<int64_t> answered_us);
  WindowSummary Summary() const;

 private:
  struct Window {
    int64_t responses_us = 0;
    int64_t answered = 0;
    int64_t due = 0;
  };
  int64_t ObjectiveAt(int64_t time_us) const;

  const WindowObjectives objectives_;
  std::map<int64_t, Window> windows_;  // By number from time 0; those in which something happened.
};

}  // namespace cosched
