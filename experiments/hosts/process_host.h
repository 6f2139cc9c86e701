#pragma once
// Real tenants: one `cosched tenant` process a job, on real cores. Implements the Host seam for the
// arbiter; the harness also describes the jobs and samples them. One thread uses it (the harness's
// loop).
//
//   Start/Grant: a malleable tenant gets a message, resizes its pools and rebinds its threads
//   itself, and answers; a rigid or moldable one knows nothing: its threads' affinity is changed
//   from outside, as an operator would with stock TensorFlow. No tenant outlives this process,
//   however it ends (tenant_guard.h, and the socket's end of file). A tenant that dies is reported
//   within 100 ms; one without heartbeat, or with compute threads outside its grant, is killed and
//   reported.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/os/actuator.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/host.h"

namespace cosched {

class ProcessHost final : public Host {
 public:
  struct Options {
    std::filesystem::path binary;  // The cosched binary; /proc/self/exe in production.
    std::filesystem::path
        log_directory;     // tenant-<job>.log: the stderr of each tenant. Empty = inherited.
    std::string run = {};  // Its tenants are found as `cosched ctl run:job`; "" = by pid only.
    Topology topology;
    Actuator actuator = Actuator::kAffinity;
    CpuSet cores = {};  // Of the experiment; only a quota needs them.
    Client client = Client::kOn;
    Duration heartbeat_timeout = std::chrono::seconds(10);  // Of a started tenant.
    Duration start_timeout = std::chrono::seconds(60);
    Duration settle_timeout =
        std::chrono::seconds(5);  // A grant not settled by then fails the tenant.
    // Cores that it was told to leave and has not left by then: it is killed.
    Duration revocation_deadline = std::chrono::milliseconds(250);
    bool sample_threads = false;  // Samples list every thread (experiments/records/interference.h).
    Duration request_window = std::chrono::seconds(1);  // Between HostWindow events of a service.
  };

  explicit ProcessHost(const Options& options);
  // Tenants in something else than plain processes: the launcher's affair; `binary` is not used.
  ProcessHost(const Options& options, std::unique_ptr<TenantLauncher> launcher);
  ~ProcessHost() override;  // Kills what still runs, and waits for it.

  // Tells what a job runs. REQUIRES: before the job is started.
  void Describe(JobId job, const TenantSpec& spec);

  const Clock& GetClock() const override;
  void Start(const Job& job, const CpuSet& cores, Split threads) override;
  void Grant(JobId job, const CpuSet& cores, Split threads) override;
  void Pause(JobId job) override;
  void Stop(JobId job) override;
  // REQUIRES: the job was described as one that serves. Requests travel at the next NextEvent.
  void Send(JobId job, const Request& request) override;
  void Drain(JobId job) override;
  double Progress(JobId job) const override;
  std::optional<HostEvent> NextEvent(TimePoint deadline) override;

  // One row a living tenant, measured now from /proc and the shared counters; before these, one for
  // each that has gone since the last call, with all that was seen of it.
  std::vector<TenantSample> Sample();
  // The steps that ended since the last call, in order per job.
  std::vector<StepSample> TakeSteps();
  // The resizes of tenants' pools that were reported since the last call, in order per job.
  std::vector<ResizeSample> TakeResizes();

  // What services have answered since the last call, in order of the answers per service.
  std::vector<RequestSample> TakeRequests();
  // How tenants were moved by the grants since the last call, in order per job.
  std::vector<ActuationSample> TakeActuations();
  // What a reader of the records must know of the tenants that have gone since the last call.
  std::vector<std::string> TakeMarks();

  // CPU time of all tenants so far that the kernel does not account to this process, because they
  // were started by a container runtime.
  Duration UsedByOthersChildren() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cosched
