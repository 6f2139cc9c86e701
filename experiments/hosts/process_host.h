#pragma once
// Real tenants: one `cosched tenant` process a job, on real cores, and one a modelled device. One
// thread uses it, the harness's.
//
//   Start/Grant: a malleable tenant gets a message, resizes its pools and rebinds its threads
//   itself, and answers; a rigid or moldable one knows nothing: its threads' affinity is changed
//   from outside, as an operator would with stock TensorFlow. No tenant outlives this process,
//   however it ends (tenant_guard.h, and the socket's end of file). A tenant that dies is reported
//   within 100 ms; one without heartbeat, or with compute threads outside its grant, is killed and
//   reported. Memory follows a tenant to the NUMA nodes of its cores (memory_mover.h).

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/numa.h"
#include "engine/base/topology.h"
#include "experiments/hosts/observed_host.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/hosts/tenant_timeouts.h"
#include "experiments/os/actuator.h"
#include "experiments/wire/memory_mode.h"

namespace cosched {

class ProcessHost : public ObservedHost {
 public:
  struct Options {
    std::filesystem::path binary;  // The cosched binary; /proc/self/exe in production.
    // tenant-<job>.log, device-<number>.log: the stderr of each. Empty = inherited.
    std::filesystem::path log_directory;
    std::string run = {};  // Tenants are found as `cosched ctl run:job`; "" = by pid only.
    Topology topology;
    Actuator actuator = Actuator::kAffinity;
    MemoryMode memory = MemoryMode::kFollow;
    std::optional<NumaMap> numa = {};  // Default: the topology's.
    // The policy grants shares: every tenant has a quota, whatever moves those with whole cores.
    bool shares = false;
    std::chrono::microseconds quota_period = std::chrono::milliseconds(100);
    // The experiment's: a quota needs them, and TakeMarks tells what else ran on them meanwhile
    // (experiments/hosts/machine_conditions.h). Empty: nothing is watched.
    CpuSet cores = {};
    Client client = Client::kOn;
    TenantTimeouts timeouts = {};
    bool sample_threads = false;  // Samples list every thread (experiments/records/interference.h).
    int wake = -1;  // NextEvent returns, too, while this descriptor is readable; -1 = none.
  };

  explicit ProcessHost(const Options& options);
  // Tenants in something else than plain processes: the launcher's affair; `binary` is not used.
  ProcessHost(const Options& options, std::unique_ptr<TenantLauncher> launcher);
  ~ProcessHost() override;  // Kills what still runs, and waits for it.

  const Clock& GetClock() const override;
  void Start(const Job& job, const Place& place) override;
  void Grant(JobId job, const Place& place) override;
  void Pause(JobId job) override;
  void Stop(JobId job) override;
  // One process a device, on all of the experiment's cores (supervised_device.h).
  void AddDevice(const DeviceSpec& device) override;
  // REQUIRES: the job was described as one that serves. Requests travel at the next NextEvent.
  void Send(const ServerId& server, const Request& request) override;
  void Drain(JobId job) override;
  double Progress(JobId job) const override;
  std::optional<HostEvent> NextEvent(TimePoint deadline) override;

  void Describe(JobId job, const TenantSpec& spec) override;
  // From /proc and the shared counters.
  std::vector<TenantSample> Sample() override;
  std::vector<StepSample> TakeSteps() override;
  std::vector<ResizeSample> TakeResizes() override;
  std::vector<ActuationSample> TakeActuations() override;
  std::vector<MemoryMove> TakeMemoryMoves() override;
  std::vector<RequestSample> TakeRequests() override;
  std::vector<HoldSample> TakeHolds() override;
  Duration CpuTime(JobId job) override;  // 0 before it has a process, and when that is gone.
  PipelineCounters Pipeline(JobId job) override;
  void WakeAtAnswers(bool wanted) override;
  std::vector<std::string> TakeMarks() override;  // Ends the devices.
  TimeByCore BusyTimes() const override;

  // CPU time of all tenants so far that the kernel does not account to this process, because they
  // were started by a container runtime.
  Duration UsedByOthersChildren() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
