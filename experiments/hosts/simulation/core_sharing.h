#pragma once
// Who computes on which core, and what part of it each gets. The kernel's fair scheduler is
// modelled as perfect: a tenant's threads spread evenly over its cores, and a core is shared
// among the threads on it by their weights. All threads run at equal priority; one weighs less than
// another if it sleeps while it waits for others of its tenant (workloads/profile.h).
//
//   density d_i = threads_i / cores_i         threads of tenant i on each of its cores
//   load L_c    = sum of d_i on core c
//   part of c   = d_i if L_c <= 1, else w_i d_i / (sum of w_j d_j on c), at most d_i
//   cores_i     = sum of its parts            what it computes with, a fraction maybe
//   threads per core = mean of max(1, L_c) over its cores
//   rate_i      = part of the time that the threads of i run, on the core that gives them least:
//                 with a thread on each core the others wait for that one. Fewer threads than cores
//                 go where there is room: the mean
//   others      = L_c - d_i on that core, or on average
//   beside      = part of its cores on whose physical core others compute, where several hardware
//                 threads count as a core each: mean of min(1, load of others on the siblings)
//
// Source: discriminatory processor sharing, Kleinrock, JACM 14(2), 1967; CFS's weighted fair
// queueing. Costs O(cores of the tenant), and where these are shared O(tenants on these cores x
// their cores) once after each change. One thread.

#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "policies/core_counter.h"

namespace cosched {

class CoreSharing {
 public:
  using Id = int;  // As of Executions.

  CoreSharing() = default;  // No core is another's sibling.
  explicit CoreSharing(const Topology& topology);

  // Where the tenant's threads compute from now on; 0 threads or no cores = nowhere.
  void Place(Id id, const CpuSet& cores, int threads, double weight = 1);

  struct Share {
    double cores = 0;    // What it computes with.
    double granted = 0;  // What it may compute on.
    double threads_per_core = 1;
    double rate = 1;      // At most 1.
    double others = 0;    // Threads of others on a core.
    bool shared = false;  // With another tenant.
    double beside = 0;    // At most 1.
  };
  Share Of(Id id);

  // Tenants whose share may have changed since the last call, each once, in no order that means
  // anything but always the same. Valid until the next call.
  const std::vector<Id>& TakeChanged();

 private:
  struct Tenant {
    CpuSet cores;
    int count = 0;  // How many cores there are in `cores`.
    int threads = 0;
    double weight = 1;
    bool changed = false;
    double Density() const { return static_cast<double>(threads) / count; }
    double Claim() const { return weight * Density(); }
  };

  // Sums over the tenants on a core.
  struct Core {
    std::vector<Id> here;
    bool summed = false;  // What follows is up to date.
    double load = 0;
    double claims = 0;
  };

  void Change(Id id);
  void ChangeAllOn(const CpuSet& cores);
  void Forget(const CpuSet& cores);  // Their sums.
  const Core& Summed(int core);
  Share ShareOfCores(Id id);
  double Beside(Id id) const;
  void ChangeBeside(const CpuSet& cores);
  const CpuSet& SiblingsOf(int core) const;

  std::vector<Tenant> tenants_;   // By id.
  std::vector<Core> cores_;       // By core.
  std::vector<CpuSet> siblings_;  // By core; none has any where it is empty.
  CoreCounter holders_;
  std::vector<Id> changed_, taken_;
};

}  // namespace cosched
