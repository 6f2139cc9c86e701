#pragma once
// Runs cells of a sweep in this process: one after the other where they measure this machine, on
// several threads where they are simulated. A cell's records do not depend on how many run beside
// it. Used by Execute, and by the tasks of a Slurm array.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/config/sweep.h"
#include "experiments/harness/harness.h"

namespace cosched {

struct LocalCellsOptions {
  std::filesystem::path run;  // The sweep's folder.
  Topology topology;          // This machine's topology.
  int at_a_time = 0;   // 0 = as many as there are CPUs. Simulated cells only; others run alone.
  size_t planned = 0;  // Cells that the progress is of, earlier ones too; 0 = all of the sweep.
  // As HarnessOptions::make_policy; called on several threads.
  std::function<std::unique_ptr<Policy>(const std::string& name)> make_policy = {};
  std::vector<std::string> marks = {};  // That every cell gets.
};

// Whether all cells are simulated: only then may they run side by side.
bool AllSimulated(const Sweep& sweep);

// Tells its progress on stderr; ends early when Interrupted(). REQUIRES: a SignalScope lives.
// Throws as RunCells does, once nothing runs any more.
HarnessResult RunLocally(const Sweep& sweep, const std::vector<SweepCell>& cells,
                         const LocalCellsOptions& options);

}  // namespace cosched
