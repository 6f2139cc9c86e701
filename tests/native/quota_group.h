#pragma once
// The group of a program whose CPU time somebody else decides, as a container platform does that
// resizes in place. For tests; there is none where this user may make no group with a quota
// (Cgroup::Probe().why_not).

#include <unistd.h>

#include <optional>

#include "engine/base/topology.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"

namespace cosched {

struct QuotaGroup {
  // name: unique among the tests of a process.
  explicit QuotaGroup(const std::string& name) {
    if (!Cgroup::Probe().quota) return;
    group =
        Cgroup::Create(OwnerName() + "-" + name, Topology::ThisMachine().OneThreadPerCore(), true);
    group->SetLimit(CpuLimit{{900}});
  }
  void Enter() {
    if (group) group->Attach(getpid());
  }
  std::optional<Cgroup> group;
};

}  // namespace cosched
