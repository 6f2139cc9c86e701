#pragma once
// Everything a policy is told: the machine, and every job that has arrived and not ended. Kept up
// to date by the arbiter from decision to decision; a policy sees it as const for one call.

#include <functional>
#include <vector>

#include "engine/base/cpu_set.h"
#include "engine/base/topology.h"
#include "policies/job_table.h"
#include "policies/service.h"

namespace cosched {

struct MachineView {
  const Topology* topology = nullptr;  // Never null; of `cores`, whatever else the machine has.
  TimePoint now;
  CpuSet cores;     // All that the experiment may use.
  CpuSet vacating;  // Revoked from jobs that have not left them yet; a grant of these takes longer.
  // Parts of `cores` within which shares are granted; one of all of them where the machine is not
  // divided.
  std::vector<CpuSet> nodes;
  std::vector<ServiceView> services;  // By id.
  std::vector<DeviceView> devices;    // By id; no policy decides of them, but they do work.
  JobTable jobs;  // Iterates in order of submission; has the queue and the running ones too.
  // Share of its steps that a started job has done, 0..1, asked of the host when it is called;
  // empty = not known.
  std::function<double(JobId)> progress_of;

  const JobView* Find(JobId id) const { return jobs.Find(id); }
  // The service of that id; nullptr if there is none.
  const ServiceView* FindService(ServiceId id) const;
  // Cores that no running job holds by its latest grant and that nobody is about to leave.
  CpuSet FreeCores() const;
  // Share of its steps that the job has done, 0..1; 0 while it is not known.
  double Progress(const JobView& job) const;
  // Steps it still has to do; REQUIRES: job.steps > 0.
  double StepsLeft(const JobView& job) const;
};

}  // namespace cosched
