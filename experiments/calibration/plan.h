#pragma once
// What `cosched calibrate` measures of which programs on how many cores. Pure: no trace is drawn
// and nothing depends on an experiment's arrivals, so that runs which check the simulator later
// are of other jobs than those it was made from.

#include <string>
#include <vector>

#include "engine/base/split.h"
#include "experiments/hosts/simulation/speed_model.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

struct Measurement {
  enum class Kind {
    kAlone,     // One tenant: what a step takes.
    kCoRun,     // Several on cores of their own.
    kShared,    // Several on the same cores.
    kMixed,     // Two: the first on all cores, the second on one of them.
    kResize,    // One malleable tenant that is moved all the while.
    kSiblings,  // Two alike, each on a hardware thread of the same core.
    kFar,       // One tenant whose memory is on another NUMA node than its core.
    kMoves,     // One that is moved between two NUMA nodes all the while, its memory after it.
  };
  Kind kind = Kind::kAlone;
  std::vector<size_t> programs;  // Indices; one a tenant.
  int cores = 1;                 // Cores of each tenant.
  Split threads;                 // Threads of each tenant.
  int shared_cores = 0;          // That all of kShared and kMixed are on.

  int CoresOf(size_t tenant) const { return kind == Kind::kMixed && tenant > 0 ? 1 : cores; }
  Split ThreadsOfTenant(size_t tenant) const {
    return kind == Kind::kMixed && tenant > 0 ? Split{1, 1} : threads;
  }
  bool IsOnSharedCores() const { return kind == Kind::kShared || kind == Kind::kMixed; }
  // More threads than cores: only a rigid tenant has that.
  bool IsRigid() const { return ThreadsOf(threads) > cores; }
  bool IsOfOneProgram() const;
  // Pressure and sensitivity are fitted to pairs, crowding to tenants alike on shared cores and to
  // two of unequal threads; the rest is what they are checked on.
  bool IsFitted() const;
};

// For each program alone: powers of two (and all) as cores; on each as many threads as cores, with
// every power of two as inter-op threads, and more intra-op threads, by powers of two up to twice
// the machine's cores; with as many threads as cores also on half and on a third of them, where
// these are no power of two; its resizes. On shared cores: 2, 4 and 6 of each program with as many
// threads as all cores, 4 and 6 with one thread on two cores, one with all cores beside one with
// one thread on one of them, and as a check two programs, each twice. All pairs (a program with
// itself too) on 1 core each and on half of the cores each; up to 3 triples on a third each. On 1
// core there are no pairs. Where several hardware threads of a core are cores here, two of each
// program on those of one core. Where there are several NUMA nodes, each program on one core with
// its memory far, and moved from node to node.
std::vector<Measurement> PlanCalibration(size_t programs, int cores, int threads_per_core = 1,
                                         int numa_nodes = 1);

std::string Describe(const Measurement& measurement, const std::vector<TenantSpec>& programs);

}  // namespace cosched
