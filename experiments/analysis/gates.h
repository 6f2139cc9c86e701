#pragma once
// Judges the [[gate]]s of an experiment by its results: `run` and `compare` end with exit code 1
// where one fails. Pure.
//
// A gate's estimate is the median over trials of its metric, or of the trials' ratios to another
// policy, with the interval that the tables of a comparison have. It *holds* if the whole interval
// is within the limits, and *fails* if all of it is beyond one. Else it is *undecided* and the
// estimate itself is what counts: more trials may say otherwise, but a run is never let through
// whose best guess is beyond the limit, nor stopped for having too few trials. A gate without data
// fails. So does one on anything but counts of jobs if the policy lost jobs or cells: nobody passes
// by losing what takes long.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/statistics.h"
#include "experiments/config/experiment_config.h"

namespace cosched {

enum class GateVerdict { kHolds, kFails, kUndecided };
const char* ToString(GateVerdict verdict);  // "holds", "fails", "undecided".

struct JudgedGate {
  GateConfig gate;   // Of one elasticity; its metric is a column.
  std::string what;  // "equal-share/malleable: makespan_s of strict's at most 0.95".
  GateVerdict verdict = GateVerdict::kFails;
  bool passes = false;                  // An undecided one, too, if its estimate does.
  std::optional<double> estimate = {};  // Nothing: there are no data.
  Interval interval = {};
  int trials = 0;           // That the estimate is of.
  std::string reason = {};  // Why it is undecided, or has no data; else "".
};

// Those of one run, of one point of a sweep or of runs that are pooled.
struct JudgedGates {
  std::string name;
  std::vector<JudgedGate> gates;  // A gate of the file is one for each elasticity and service.
};

// By the gates of the cells' runs, each once, at the level that a run had (LevelOfLook).
std::vector<JudgedGate> JudgeGates(const ComparedCells& cells);

bool AnyGateFails(const std::vector<JudgedGates>& runs);
bool HasGates(const std::vector<JudgedGates>& runs);

// A line a gate, with the run's name before it where there are several; "" where there is none.
std::string GatesText(const std::vector<JudgedGates>& runs);

nlohmann::ordered_json GatesJson(const std::vector<JudgedGate>& gates);

// As JUnit's XML: a test suite a run, a test case a gate; an undecided one that passes is skipped.
std::string JUnitText(const std::vector<JudgedGates>& runs);

}  // namespace cosched
