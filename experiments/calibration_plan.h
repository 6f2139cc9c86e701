#pragma once
// What `cosched calibrate` measures of which programs on how many cores. Pure: no trace is drawn
// and nothing depends on an experiment's arrivals, so that runs which check the simulator later
// are of other jobs than those it was made from.

#include <string>
#include <vector>

#include "engine/base/split.h"
#include "experiments/hosts/simulation/speed_model.h"
#include "experiments/hosts/tenant_spec.h"

namespace cosched {

struct Measurement {
  enum class Kind {
    kAlone,   // One tenant: what a step takes.
    kCoRun,   // Several on cores of their own.
    kShared,  // Several rigid ones on the same cores, all of the machine.
    kResize,  // One malleable tenant that is moved all the while.
  };
  Kind kind = Kind::kAlone;
  std::vector<size_t> programs;  // Indices; one a tenant.
  int cores = 1;                 // Of each.
  Split threads;                 // Of each.

  // More threads than cores: only a rigid tenant has that.
  bool IsRigid() const { return kind == Kind::kShared || ThreadsOf(threads) > cores; }
  // Pressure and sensitivity are fitted to pairs; the rest is what they are checked on.
  bool IsFitted() const { return kind == Kind::kCoRun && programs.size() == 2; }
};

// For each program alone: powers of two (and all) as cores; on each as many threads as cores, with
// every power of two as inter-op threads, and more intra-op threads, by powers of two up to twice
// the machine's cores; its resizes; and two of it that share all cores. All pairs (a program with
// itself too) on 1 core each and on half of the cores each; up to 3 triples on a third each. On 1
// core there are no pairs.
std::vector<Measurement> PlanCalibration(size_t programs, int cores);

std::string Describe(const Measurement& measurement, const std::vector<TenantSpec>& programs);

}  // namespace cosched
