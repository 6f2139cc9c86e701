#pragma once
// Modelled tenants: numbers, a virtual clock, and one heap of events. Implements what ProcessHost
// does, so that policies, arbiter, metrics and records are the same as on hardware. What a tenant
// costs comes from a Profile; each part of the model is one file below
// experiments/hosts/simulation/, and can be switched off. Equal experiments and seeds give equal
// events to the nanosecond: nothing here reads the wall clock. One thread.
//
// Follows ProcessHost in what a tenant does when (experiments/hosts/supervised_tenant.h): a start
// settles when the first step begins; a malleable tenant answers a grant after the measured delay
// and computes as before until then; a rigid or moldable one is moved at once and keeps its
// threads; one that starts is moved at once; one that has done its last step hears nothing more.
//
// Services (TenantSpec::serves; simulation/service_model.h) answer requests until they are drained
// or stopped; their threads count as busy also while no request waits, but for those that were ever
// granted a share of their cores. Requests that a stop or a failure catches are never answered.
//
// Pipelines (TenantSpec::IsPipeline; simulation/pipeline_model.h) are services whose calls compute
// side by side, by the costs of their stages in the profile. What their threads compete with others
// for is cores, and the contention of the program as a whole; losses of crowded cores are not theirs.
//
// A tenant with a share of its cores (Place) spends a budget of CPU time and stands still when it
// is used up (simulation/bandwidth.h); the host's write of a new share takes effect with the grant.
//
// Devices (simulation/device_model.h) answer requests beside the cores; only what requests cost
// their host is work on the cores, on all of them.
//
// A tenant on one hardware thread of a core is slowed by others on its siblings as the profile has
// it (ProgramProfile::sibling); by its own threads there as far as its speed on so many cores was
// measured so. Pipelines and devices are not.
//
// Where the machine has several NUMA nodes and the profile knows what that costs, a tenant's memory
// lies where it was when it began to compute (simulation/memory_place.h). It computes the slower,
// the more of it is far (ProgramProfile::far_memory). Where it follows, it is moved after the grant
// has settled, at the measured rate (Profile::move_bytes_s), which takes one of the tenant's cores
// meanwhile: with one core it stands still. Pipelines and devices have no memory.
//
// Not modelled, and so 0 or empty in the records: involuntary switches, migrations, pressure (PSI),
// the op that ran at a resize, losses, actuations.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/observed_host.h"
#include "experiments/hosts/simulation/settings.h"
#include "experiments/wire/memory_mode.h"
#include "workloads/profile.h"

namespace cosched {

class SimulatedHost final : public ObservedHost, public Clock {
 public:
  struct Options {
    std::shared_ptr<const Profile> profile;
    SimulationSettings model = {};
    CpuSet machine = {};  // All its cores, where tenants that refuse go.
    // Of the cores that tenants are granted: which of them are one physical core. None is where it
    // is not given.
    std::optional<Topology> topology = {};
    MemoryMode memory = MemoryMode::kFollow;
    Duration revocation_deadline = std::chrono::milliseconds(250);
    Duration quota_period = std::chrono::milliseconds(100);  // simulation/bandwidth.h
    bool steps = true;                                       // TakeSteps tells them; needs samples.
    bool resizes = true;                                     // TakeResizes tells them.
    bool samples = true;  // Sample is called, and told the last sample of each tenant too.
  };
  explicit SimulatedHost(Options options);
  ~SimulatedHost() override;

  void AddDevice(const DeviceSpec& device) override;
  // REQUIRES: the profile has the job's program, with its stages if it is a pipeline, or it is of model "chaos".
  void Describe(JobId job, const TenantSpec& spec) override;
  std::vector<TenantSample> Sample() override;
  std::vector<StepSample> TakeSteps() override;
  std::vector<ResizeSample> TakeResizes() override;
  std::vector<ActuationSample> TakeActuations() override { return {}; }
  std::vector<MemoryMove> TakeMemoryMoves() override;
  std::vector<RequestSample> TakeRequests() override;
  std::vector<HoldSample> TakeHolds() override;
  Duration CpuTime(JobId job) override;
  PipelineCounters Pipeline(JobId job) override;
  void WakeAtAnswers(bool wanted) override;
  std::vector<std::string> TakeMarks() override;

  const Clock& GetClock() const override { return *this; }
  Duration ChargeDecision(Duration measured) override;
  void Start(const Job& job, const Place& place) override;
  void Grant(JobId job, const Place& place) override;
  void Pause(JobId job) override;
  void Stop(JobId job) override;
  void Send(const ServerId& server, const Request& request) override;
  void Drain(JobId job) override;  // REQUIRES: the job serves.
  double Progress(JobId job) const override;
  std::optional<HostEvent> NextEvent(TimePoint deadline) override;

  // Clock.
  TimePoint Now() const override;

  // How many times services were looked at or changed so far: what an event costs in them.
  int64_t ServiceTouches() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
