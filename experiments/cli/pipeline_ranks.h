#pragma once
// A pipeline of several processes, its ranks: `cosched pipeline run … --ranks N` starts them with
// mpirun, and each of them, or of those that somebody else started so (mpirun -n N cosched pipeline
// run …), finds its place here. Called by `cosched pipeline run`, on its thread.

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "engine/mpi/mpi_link.h"
#include "workloads/pipelines/pipeline_program.h"

namespace cosched {

// --threads and --ranks. The values outlive the command.
void AddThreadsAndRanks(CLI::App* command, std::optional<int>* threads, std::optional<int>* ranks);

struct JoinedRank {
  std::unique_ptr<MpiLink> link;  // Null: this process is all there is.
  // One for each thread, others than those of the ranks beside it as far as there are enough.
  CpuSet cores = {};

  bool ServesAnother() const { return link && link->Rank() > 0; }
};

// `threads`, by default its share of the machine's cores, and `ranks`: as the options say. In place
// of a process that is to start others it does not return, but becomes mpirun with this command
// line. Throws InputError where there is no mpirun or no MPI, for another number than the launcher's,
// and for more threads than cores.
JoinedRank JoinRanks(std::optional<int> threads, std::optional<int> ranks,
                     const Topology& topology);

// Makes calls until rank 0 has no more. The exit code, which is no good one if a rank has ended
// before, or `make` throws, which rank 0 tells. Throws LinkError. REQUIRES: not rank 0.
int ServeRank(MpiLink* link, const std::function<PipelineProgram()>& make, const CpuSet& cores,
              const Topology& topology);

}  // namespace cosched
