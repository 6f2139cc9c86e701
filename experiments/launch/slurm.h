#pragma once
// Hands the cells of a sweep to Slurm as one job array, waits for them, and tells the progress:
// what `cosched run --launcher slurm` does. Each task of the array is this command again with
// --task; it runs its share of the cells into the same run folder, which every node must see under
// the same path. Cells that measure are planned for a node as Slurm gives it, and run on such nodes
// only; simulated ones anywhere, on the machine that the run was planned for. Cells that are not whole when the array has ended (a node died, the task was
// killed) go to Slurm once more; those that fail again are recorded as failed.
//
// <run>/slurm/ holds what was submitted (attempt-N.sh, attempt-N.cells) and what the tasks said
// (attempt-N.TASK.log).

#include <filesystem>
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

// What cells that measure find on a machine.
struct NodeFacts {
  Topology topology;
  Actuator actuator = Actuator::kAffinity;  // The best that is permitted there.
};
std::string NodeFactsOfThisMachine();  // As the job below writes them.
// Of a node on which Slurm would run such a cell: told by a job of its own, which waits for one.
// command: as above; the job gets --machine-to besides. `results` is seen by every node. Throws
// InputError (key --launcher).
NodeFacts NodeOfSlurm(const std::string& command, const std::filesystem::path& results);

// The machine that the run was planned for to which a task's file of cells belongs. Throws
// InputError.
Topology PlannedMachine(const std::filesystem::path& cells_file);
// Throws InputError if tenants of the sweep's cells that measure would be moved otherwise than the
// run was planned.
void CheckActuators(const Sweep& sweep, const std::filesystem::path& cells_file);

// Cancels the array and ends early when Interrupted(). REQUIRES: a SignalScope lives. Throws
// InputError (key --launcher) if there is no Slurm here, or it refuses the array.
HarnessResult RunBySlurm(const Sweep& sweep, const SlurmOptions& options);

// The cells of this process, a task of the array (by SLURM_ARRAY_TASK_ID): cells_file is what
// --task names. Throws InputError if the file does not belong to this sweep.
std::vector<SweepCell> CellsOfTask(const Sweep& sweep, const std::filesystem::path& cells_file);

}  // namespace cosched
