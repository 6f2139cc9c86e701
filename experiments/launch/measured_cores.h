#pragma once
// What every command does before it measures this machine: it takes the cores, so that no other run
// measures on them meanwhile, and tells what limits them. Used by `cosched run` and Slurm's tasks,
// `reproduce`, `validate` and `calibrate`, on one thread.

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "experiments/config/sweep.h"
#include "experiments/os/core_lock.h"

namespace cosched {

// The cores of this machine that cells of the sweep run on; none if all are simulated.
CpuSet MeasuredCoresOf(const Sweep& sweep);

class MeasuredCores {
 public:
  // Takes the other hardware threads of these cores too. run: its folder, or what is going to run.
  // Tells on stderr what limits the cores. Throws InputError if another run uses some of them and
  // `force` is not set. No cores: nothing is done.
  MeasuredCores(const CpuSet& cores, const Topology& topology, const std::string& run, bool force);

  void SetRun(const std::string& run) { lock_.SetRun(run); }
  // What every cell must tell: that another run was on the cores.
  const std::vector<std::string>& marks() const { return marks_; }

 private:
  CoreLock lock_;
  std::vector<std::string> marks_;
};

// --force, alike for all commands that measure.
void AddForceFlag(CLI::App* command, bool* force);

}  // namespace cosched
