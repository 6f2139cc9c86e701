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

// `ranks`: as the option says. Null: this process is all there is. In place of a process that is to
// start others it does not return, but becomes mpirun with this command line. Throws InputError where
// there is no mpirun or no MPI, and for another number than the launcher's.
std::unique_ptr<MpiLink> JoinRanks(std::optional<int> ranks);

// How many threads the rank has, if the option does not say: its share of the machine's cores.
int ThreadsOfRank(int cores, const LocalRanks& local);
// Which cores: others than those of the ranks beside it, as far as there are enough.
CpuSet CoresOfRank(const CpuSet& cores, const LocalRanks& local, int threads);

// Makes calls until rank 0 has no more. The exit code, which is no good one if a rank has ended
// before, or `make` throws, which rank 0 tells. Throws LinkError. REQUIRES: not rank 0.
int ServeRank(MpiLink* link, const std::function<PipelineProgram()>& make, const CpuSet& cores,
              const Topology& topology);

}  // namespace cosched
