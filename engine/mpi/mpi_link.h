#pragma once
// Ranks that are processes under mpirun (or srun --mpi=pmix). One thread of its own a rank makes all
// calls of MPI, as MPI_THREAD_FUNNELED asks for; between messages it sleeps, 20 us at first and at
// most 500 us, as Open MPI's own waits spin and would take a core from those who compute.
//
// Ranks of one machine watch each other's processes. Of a rank that dies on another machine nobody
// hears: ending the job is left to the launcher.
//
// Called by `cosched pipeline run` and by tenants that have ranks, once a process. Thread-safe as
// RankLink says.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/gates/rank_link.h"

namespace cosched {

bool HasMpi();  // Whether this build has it.

// Whether this process is one of several ranks, and of how many; nothing: no launcher started it.
std::optional<int> RanksOfLauncher();

// Of the ranks on this machine, which share its cores.
struct LocalRanks {
  int index = 0, count = 1;
};

class MpiLink : public RankLink {
 public:
  // Throws InputError where this build has no MPI, and LinkError if MPI can't be begun. REQUIRES: no
  // other one was there before in this process.
  MpiLink();
  // Waits until every rank is through, unless one is gone. While an exception passes by it waits for
  // nobody: this process will end, and the launcher ends the others.
  ~MpiLink() override;

  int Rank() const override;
  int Size() const override;
  LocalRanks Local() const;
  void Send(int to, std::string message) override;
  std::optional<Received> Receive(std::chrono::microseconds wait) override;
  void Wake() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
