#pragma once
// The samples of one tenant: what the kernel says of its threads, what its counters tell and what
// its cgroup was charged, at one instant. Called by SupervisedTenant whenever its host samples. Not
// thread-safe.

#include <optional>
#include <vector>

#include "engine/base/cpu_share.h"
#include "engine/base/topology.h"
#include "experiments/hosts/working_threads.h"
#include "experiments/os/cgroup.h"
#include "experiments/os/process_sampler.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class TenantSampling {
 public:
  // The topology and the counters outlive it. list_threads: samples list every thread.
  TenantSampling(JobId job, const Topology* topology, const SharedCounters& counters,
                 bool list_threads)
      : job_(job),
        topology_(topology),
        list_threads_(list_threads),
        working_threads_(counters.InterRecords(), counters.IntraRecords()) {}

  // What the host knows of the tenant at the instant of a sample, its threads apart.
  struct Moment {
    TimePoint now;
    CpuSet held;                       // The cores that it holds,
    CpuShare amount;                   // and the CPU time there.
    SharedCounters::Counters claimed;  // As far as they can be believed.
    PipelineCounters pipeline;
    Cgroup::Counters group;
  };
  // REQUIRES: the sampler has just read. settling: a grant of its host is under way.
  TenantSample Sample(const Moment& moment, const ProcessSampler& sampler, bool settling);
  // A gone tenant's: all that was seen of it. Null: its process was never known.
  TenantSample LastSample(const Moment& moment, const ProcessSampler* sampler);

 private:
  std::vector<ThreadSample> ThreadSamples(const ProcessSampler& sampler, const CpuSet& held) const;

  const JobId job_;
  const Topology* const topology_;
  const bool list_threads_;
  int64_t settled_sequence_ = 0;  // The number of the tenant's resizes, at the last sample.
  WorkingThreads working_threads_;
};

}  // namespace cosched
