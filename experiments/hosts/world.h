#pragma once
// What the harness sees of a cell's world: the arbiter's Host, and what is recorded of its tenants.
// Implemented by real processes (experiments/harness/worlds.h) and by the simulator
// (experiments/hosts/simulation/simulated_host.h). For one thread, the harness's.

#include <string>
#include <vector>

#include "experiments/records/interference.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/host.h"

namespace cosched {

// The world of one cell: the arbiter's Host, and what the harness needs beside it. Its clock is 0
// when it is made.
class World {
 public:
  virtual ~World() = default;
  virtual Host& GetHost() = 0;
  virtual void Describe(JobId job, const TenantSpec& spec) = 0;  // Before the job is submitted.
  virtual std::vector<TenantSample> Sample() = 0;
  virtual std::vector<StepSample> TakeSteps() = 0;
  virtual std::vector<ResizeSample> TakeResizes() = 0;
  virtual std::vector<ActuationSample> TakeActuations() = 0;
  // What services have answered since the last call, in order of the answers per service.
  virtual std::vector<RequestSample> TakeRequests() { return {}; }
  // What a reader of the records must know, of the tenants and of the machine; once a cell.
  virtual std::vector<std::string> TakeMarks() { return {}; }
  // Time that each of the experiment's cores was busy so far, with whatever; for experiments that
  // ask who made whom wait.
  virtual TimeByCore BusyTimes() const { return {}; }
};

}  // namespace cosched
