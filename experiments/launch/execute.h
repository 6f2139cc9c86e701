#pragma once
// Runs an experiment file to its end, with progress on stderr: what `cosched run` and `cosched
// reproduce` share. One at a time in a process, because it listens to SIGINT and SIGTERM.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/config/sweep.h"
#include "experiments/harness/harness.h"
#include "experiments/launch/run_folder.h"

namespace cosched {

// Which run the cells go to: a new one; the latest unfinished one, which lacks some; the latest one
// that is over, whose marked cells run anew (experiments/analysis/marked_cells.h).
enum class Into { kNewRun, kUnfinishedRun, kMarkedRun };

struct ExecuteOptions {
  std::filesystem::path results;  // The run's folder goes to results/<experiment>.
  Into into = Into::kNewRun;
  OnDifference on_difference = OnDifference::kRefuse;  // If the run is there already.
  bool slurm = false;  // --launcher slurm: cells become tasks of an array.
  bool force = false;  // Also on cores that another run uses; then all cells are marked.
  std::string cpu = {}, kernel = {};  // As RunContext's.
  int at_a_time = 0;  // Simulated cells side by side; 0 = as many as there are CPUs.
  // As HarnessOptions::make_policy; called on several threads.
  std::function<std::unique_ptr<Policy>(const std::string& name)> make_policy = {};
};

struct Executed {
  std::filesystem::path run;
  HarnessResult result;  // Of all cells, earlier ones included; interrupted: of what ran now.
  size_t whole = 0;      // Cells that are whole now, earlier ones included.
};

// Prints the run's folder and what makes its profile doubtful before it begins. Throws InputError
// and OutputError as RunFolder and RunCells do.
Executed Execute(const Sweep& sweep, const ExecuteOptions& options, const Topology& topology);

// The same, but goes on with an unfinished run of this very sweep if there is one that was begun by
// this binary on this machine.
Executed ExecuteOrGoOn(const Sweep& sweep, ExecuteOptions options, const Topology& topology);

// How this process can be called again so that it goes on where an interrupted run ended.
std::string ResumeCommand(const ExecuteOptions& options);

}  // namespace cosched
