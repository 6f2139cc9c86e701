#pragma once
// What disturbs an experiment from outside: other programs on its cores or on their SMT siblings,
// quotas that stop its processes, and cores that go out of service. A result that was measured beside these says less about
// policies, and its records must say so. Used by ProcessHost on one thread.

#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/foreign_load.h"

namespace cosched {

class MachineConditions {
 public:
  // Watches these cores from now on.
  MachineConditions(const CpuSet& cores, const Topology& topology);
  // What a reader of the records must know of the time since then. REQUIRES: the tenants have
  // ended. ours: CPU time of processes that are ours and not our children (ForeignLoad::Share).
  std::vector<std::string> Marks(Duration ours) const;

 private:
  const CpuSet cores_;
  // SMT siblings of the cores: no tenant may use them. This process may, and is not foreign.
  const CpuSet siblings_;
  const ForeignLoad foreign_load_;
  const ForeignLoad sibling_load_;
  const QuotaWatch quotas_;
};

}  // namespace cosched
