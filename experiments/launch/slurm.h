#pragma once
// Hands the cells of a sweep to Slurm as one job array, waits for them, and tells the progress:
// what `cosched run --launcher slurm` does. Each task of the array is this command again with
// --task; it runs its share of the cells into the same run folder, which every node must see
// under the same path. Cells that measure are planned for a node as Slurm gives it, and run on
// such nodes only, also when the run is resumed; simulated ones anywhere, on the machine that the
// run was planned for. Cells
// that are not whole when the array has ended (a node died, the task was killed) go to Slurm
// once more; those that fail again are recorded as failed.
//
// <run>/slurm/ holds what was submitted (attempt-N.sh, attempt-N.cells) and what the tasks said
// (attempt-N.TASK.log).

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/config/sweep.h"
#include "experiments/harness/harness.h"
#include "experiments/os/actuator.h"

namespace cosched {

struct SlurmOptions {
  std::filesystem::path run;  // The sweep's folder.
  std::string command;        // This command, quoted for a shell; its tasks get --task besides.
  int at_a_time = 0;          // Tasks; 0 = as many as Slurm likes.
};

// Cells of the sweep that are not whole yet, in its order.
std::vector<SweepCell> MissingCells(const std::filesystem::path& run, const Sweep& sweep);

// What became of these cells, by their records; one that can't be read has failed.
HarnessResult ResultOf(const std::filesystem::path& run, const Sweep& sweep,
                       const std::vector<SweepCell>& cells);

// A machine on which cells measure.
struct NodeFacts {
  Topology topology;
  Actuator actuator = Actuator::kAffinity;  // The best that is permitted there.
  std::string cpu, kernel;                  // Models, as manifest.json's host has them.
  std::string kernel_rates;                 // As machine.kernel_rates takes them.
};
std::string NodeFactsOfThisMachine();  // As the job below writes them.
// Of a node on which Slurm would run such a cell: told by a job of its own, which waits for one;
// nullopt when Interrupted(), the job is cancelled then. command: as above; the job gets
// --machine-to besides. `results` is seen by every node. REQUIRES: a SignalScope lives. Throws
// InputError (key --launcher).
std::optional<NodeFacts> NodeOfSlurm(const std::string& command,
                                     const std::filesystem::path& results);

// What a run's cells were planned for, by its manifests; nullopt if there are none.
// kernel_rates: "" of simulated cells.
std::optional<NodeFacts> NodePlannedFor(const std::filesystem::path& run);
// Of a task's run. Throws InputError if the file is in no run's folder.
NodeFacts NodeOfTask(const std::filesystem::path& cells_file);

// Cancels the array and ends early when Interrupted(). REQUIRES: a SignalScope lives. Throws
// InputError (key --launcher) if there is no Slurm here, or it refuses the array.
HarnessResult RunBySlurm(const Sweep& sweep, const SlurmOptions& options);

// The cells of this process, a task of the array (by SLURM_ARRAY_TASK_ID): cells_file is what
// --task names. Throws InputError if the file does not belong to this sweep, or tenants would be
// moved otherwise than the run was planned.
std::vector<SweepCell> CellsOfTask(const Sweep& sweep, const std::filesystem::path& cells_file);

}  // namespace cosched
