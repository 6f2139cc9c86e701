#pragma once
// A Host that also tells what is recorded of its tenants: the arbiter sees a Host, the harness all
// of it. Implemented by real processes (experiments/hosts/process_host.h) and by the simulator
// (experiments/hosts/simulation/simulated_host.h). For one thread, the harness's.

#include <string>
#include <vector>

#include "engine/base/check.h"
#include "experiments/records/interference.h"
#include "experiments/wire/device_spec.h"
#include "experiments/wire/memory_move.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/host.h"

namespace cosched {

// The host of one cell. Its clock is 0 when it is made.
class ObservedHost : public Host {
 public:
  // The device is there from now on, until the cell is over or it is lost (HostLostDevice), and can
  // be sent requests at once. REQUIRES: before any job is started.
  virtual void AddDevice(const DeviceSpec& device) {
    CHECK(false) << "device " << device.name << ": no devices here";
  }
  // Tells what a job runs. REQUIRES: before the job is started.
  virtual void Describe(JobId job, const TenantSpec& spec) = 0;
  // One row a living tenant, measured now; before these, one for each that has gone since the last
  // call, with all that was seen of it.
  virtual std::vector<TenantSample> Sample() = 0;
  // The steps that ended since the last call, in order per job.
  virtual std::vector<StepSample> TakeSteps() = 0;
  // The resizes of tenants' pools that were reported since the last call, in order per job.
  virtual std::vector<ResizeSample> TakeResizes() = 0;
  // How tenants were moved by the grants since the last call, in order per job.
  virtual std::vector<ActuationSample> TakeActuations() = 0;
  // Moves of tenants to other NUMA nodes that are over since the last call, in order; of those that
  // have not ended since.
  virtual std::vector<MemoryMove> TakeMemoryMoves() { return {}; }
  // What services have answered since the last call, in order of the answers per service.
  virtual std::vector<RequestSample> TakeRequests() { return {}; }
  // Holds of devices' slots that ended since the last call, in order of their ends per device.
  virtual std::vector<HoldSample> TakeHolds() { return {}; }
  // CPU time that the job has used so far, by all its threads; what is known of one that is gone; 0 of
  // one that was never started.
  virtual Duration CpuTime(JobId) { return Duration(0); }
  // What a pipeline says of its stages now; empty of all others, and of one that is gone or was never
  // started.
  virtual PipelineCounters Pipeline(JobId) { return {}; }
  // Whether NextEvent shall return as soon as a service has answered; at first it does not.
  virtual void WakeAtAnswers(bool) {}
  // What a reader of the records must know, of the tenants that have gone since the last call and
  // of the machine; once a cell.
  virtual std::vector<std::string> TakeMarks() { return {}; }
  // Time that each of the experiment's cores was busy so far, with whatever; for experiments that
  // ask who made whom wait.
  virtual TimeByCore BusyTimes() const { return {}; }
};

}  // namespace cosched
