#pragma once
// A run that is over, or was interrupted, as data: which cells it has and what became of each. What
// `cosched run` tells at its end, as text and as JSON. Reads the run's files only; thread-safe.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/config/sweep.h"
#include "experiments/launch/execute.h"

namespace cosched {

struct FinishedCell {
  std::string point;  // Of a sweep; "" = there is none.
  CellKey key;
  std::filesystem::path folder;
  // "done", "failed" (it was given up), "damaged" (its records can't be read) or "missing" (it has
  // not run to its end).
  std::string status;
  std::string problem = {};  // Why it failed or is damaged.
  std::vector<std::string> marks = {};
  int jobs = 0, lost_jobs = 0;  // Lost: failed, rejected or cancelled.
  double makespan_s = 0;
};

struct FinishedRun {
  std::string experiment;
  Executed executed;
  double seconds = 0;               // That the cells which ran now took, with all around them.
  std::vector<FinishedCell> cells;  // All that were planned, in the order in which they run.

  size_t Count(const std::string& status) const;
};

// Reads the rows of every job.
FinishedRun ReadFinishedRun(const Sweep& sweep, const Executed& executed, double seconds);

int ExitCodeOf(const Executed& executed);
// What went wrong, for people, in lines; "" if nothing did. Of an interrupted run: how to go on.
std::string ProblemsText(const Sweep& sweep, const Executed& executed,
                         const ExecuteOptions& options);

// The document that experiments/schemas/run.schema.json describes. comparison: that of `cosched
// compare --json`, or null. gates: their exit code.
nlohmann::ordered_json FinishedRunJson(const FinishedRun& run,
                                       const nlohmann::ordered_json& comparison, int gates);

}  // namespace cosched
