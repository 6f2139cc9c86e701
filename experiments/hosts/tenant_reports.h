#pragma once
// The resizes that one tenant has reported and the actuations that its host has done, kept until
// the host takes them for the records. Filled by SupervisedTenant. Not thread-safe.

#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/wire/tenant_protocol.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class TenantReports {
 public:
  // `epoch` is the MonotonicNow() of TimePoint zero.
  TenantReports(JobId job, TimePoint started, Duration epoch)
      : job_(job), started_(started), epoch_(epoch) {}

  void AddResize(const ResizedMessage& resized) { resizes_.push_back(resized); }
  // cores: where the tenant was moved; none = it was stopped.
  void AddActuation(TimePoint now, const CpuSet& cores, const LaunchedTenant::Times& times);

  // Both append, in the order in which they were added. A resize's time is the tenant's word: it is
  // taken to be no earlier than its start and no later than now.
  void TakeResizes(TimePoint now, std::vector<ResizeSample>* resizes);
  void TakeActuations(std::vector<ActuationSample>* actuations);

 private:
  const JobId job_;
  const TimePoint started_;
  const Duration epoch_;
  std::vector<ResizedMessage> resizes_;
  std::vector<ActuationSample> actuations_;
};

}  // namespace cosched
