#pragma once
// One running tenant as its host sees it, whatever it runs in: its process, its socket, its
// counters, the grant it should follow and all that may go wrong. Advance() does everything that
// time or the tenant's messages ask for. Not thread-safe.
//
// A grant moves the tenant's cgroup first, if it has one, and then tells the tenant, if it listens.
// The host believes the kernel, not the tenant: a grant has settled when the tenant says so *and*
// every thread of its process is within it (malleable), or when what the host sets from outside has
// stuck (rigid, moldable, and in containers a client that is off or takes its time).
//
// A pause leaves nothing behind on the cores: when a malleable tenant's pools have parked, at once
// for all others, the host stops the whole process (SIGSTOP), so that its main thread loads no
// batch and prepares no run meanwhile, and the pause has settled when the kernel shows every thread
// stopped. The next grant first moves the threads, then lets them go on. A process that is stopped
// beats no more, and answers neither requests, which wait here, nor `cosched ctl`.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/surplus_threads.h"
#include "experiments/hosts/tenant_claims.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/hosts/tenant_requests.h"
#include "experiments/hosts/working_threads.h"
#include "experiments/os/actuator.h"
#include "experiments/os/process_sampler.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/host.h"

namespace cosched {

class SupervisedTenant {
 public:
  struct Settings {
    std::string run;            // The name by which `cosched ctl run:job` finds it; "" = none.
    std::filesystem::path log;  // Empty = this process's stderr.
    Topology topology;
    Actuator actuator = Actuator::kAffinity;  // The launcher's too.
    CpuSet machine_cores;                     // Of the experiment: where a quota lets it run.
    Client client = Client::kOn;
    Duration heartbeat_timeout, start_timeout, settle_timeout, revocation_timeout;
    bool sample_threads = false;                        // Samples list every thread.
    Duration request_window = std::chrono::seconds(1);  // Between HostWindow events of a service.
  };

  // Starts it. Throws std::runtime_error if that is refused. The launcher outlives it. `epoch` is
  // the MonotonicNow() of TimePoint zero.
  SupervisedTenant(const Job& job, const TenantSpec& spec, const CpuSet& cores, Split threads,
                   const Settings& settings, TenantLauncher* launcher, TimePoint now,
                   Duration epoch);

  void Grant(const CpuSet& cores, Split threads, TimePoint now);
  void Pause(TimePoint now);
  void Kill() { undead_ = !launched_->Kill(); }

  // REQUIRES, of all three: it serves. One that has not begun, or is paused, gets them later.
  void Send(const Request& request, TimePoint now) { requests_->Send(request, now); }
  void Drain() { requests_->Drain(); }
  void TakeAnswered(std::vector<RequestSample>* answered) { requests_->TakeAnswered(answered); }
  bool Serves() const { return requests_.has_value(); }

  // Reads what has arrived and checks what is due. HostFinished and HostFailed mean that the
  // process is gone.
  std::optional<HostEvent> Advance(TimePoint now);
  // Advance wants to be called when one of the descriptors is readable, and at this time.
  TimePoint NextCheck() const { return next_check_; }
  std::vector<int> Descriptors() const;

  Duration UsedByOthersChildren() const { return launched_->UsedByOthersChildren(); }
  double Progress() const;                            // 0..1
  std::optional<TenantSample> Sample(TimePoint now);  // nullopt if the process has just gone.
  TenantSample LastSample(TimePoint now);             // When it is gone: all that was seen of it.
  void TakeSteps(TimePoint now, std::vector<StepSample>* steps);
  // What a reader of the records must know of it, such as steps that are missing there; when it is
  // gone.
  std::vector<std::string> Marks() const;
  void TakeResizes(TimePoint now, std::vector<ResizeSample>* resizes);
  void TakeActuations(std::vector<ActuationSample>* actuations);

 private:
  bool Malleable() const { return job_.elasticity == Elasticity::kMalleable; }
  bool Paused() const { return cores_.Empty(); }
  bool Told() const;  // It gets its grants as messages; else it is stopped and moved like a stone.
  bool Awaited() const;  // … and a grant has settled only when it has answered.
  CpuSet Range() const;  // Where its threads may be.
  void Act(TimePoint now);
  void SendGrant(TimePoint now);
  void Move(TimePoint now);
  void Stop();
  bool IsStill() const;
  void Record(TimePoint now, const LaunchedTenant::Times& times);
  void Meet();
  void BeginGrant(const CpuSet& cores, Split threads, TimePoint now);
  void Confine();
  void Fail(std::string reason);

  void ReadMessages(TimePoint now);
  bool TakeAnswers(const std::string& packet, TimePoint now);
  void FlushRequests(TimePoint now);
  std::optional<HostEvent> TakeWindow(TimePoint now);
  void Handle(const HelloMessage& hello, TimePoint now);
  void Handle(const SettledMessage& settled, TimePoint now);
  void Handle(const ResizedMessage& resized, TimePoint now);
  void Handle(const FinishedMessage& finished, TimePoint now);
  void Handle(const ErrorMessage& error, TimePoint now);

  HostEvent Over(const TenantProcess::End& end) const;
  TenantSample SampleOf(TimePoint now);
  std::vector<ThreadSample> ThreadSamples() const;
  bool AtItsPlace(TimePoint now);
  bool HasHeard() const;
  bool HasStopped(TimePoint now);
  bool IsWithin(const CpuSet& cores, const ProcessSampler::Thread& thread) const;
  void CheckDeadlines(TimePoint now);
  void CheckConduct(TimePoint now);
  void CheckStop();
  void CheckAlive(TimePoint now);
  void CheckPlace();
  void Retake();
  bool Overdue(TimePoint now) const;
  Duration CheckPeriod() const;

  const Job job_;
  const TenantSpec spec_;
  const Settings settings_;
  const TimePoint started_at_;
  const Duration epoch_;
  SharedCounters counters_;
  TenantClaims claims_;
  std::optional<TenantRequests> requests_;  // Of a service.
  TimePoint next_window_;                   // Once it is ready.
  std::unique_ptr<LaunchedTenant> launched_;
  std::optional<ProcessSampler> sampler_;  // Once its process is known.
  std::optional<ControlLink> control_;

  CpuSet cores_;          // Of the latest grant; empty = paused.
  CpuSet held_;           // Those, and until it settles also the ones it may still be on.
  Split threads_;         // Of the latest grant.
  int64_t sequence_ = 1;  // Of the latest grant.
  bool acted_ = true;     // All that the host does for the latest grant is done …
  bool moving_ = false;   // … or its cgroup is being moved.
  // Its cgroup was moved back, or it was stopped again, because of what somebody else had done.
  bool retaken_ = false;
  bool settling_ = true;
  std::optional<TimePoint> leave_by_;  // When the cores that it was told to leave must be left.
  bool stopped_ = false;               // By SIGSTOP, since …
  std::chrono::steady_clock::time_point stop_began_;
  bool stop_told_ = false;  // In an actuation.
  bool answered_ = false;   // The tenant has answered the latest grant, or need not.

  bool greeted_ = false;   // It has said hello …
  bool ready_ = false;     // … and that it can compute,
  bool finished_ = false;  // … and that it has done all its steps.
  bool closed_ = false;    // Its end of the socket is closed.
  std::string failure_;    // Why it must go; "" = it may stay.

  TimePoint ready_deadline_, settle_deadline_, leave_deadline_;
  TimePoint next_check_, next_conduct_check_;
  std::vector<ResizedMessage> resizes_;      // Not yet taken.
  std::vector<ActuationSample> actuations_;  // Not yet taken.
  bool paused_by_others_ = false;            // A person has paused it (cosched ctl), not its host.
  int64_t heartbeats_ = -1;
  TimePoint last_heartbeat_;
  Duration run_time_{0};  // Of main and compute threads, at the last sign of life.
  TimePoint last_run_;
  int64_t steps_ = -1;
  TimePoint last_step_;
  bool undead_ = false;           // It was killed, but the kernel has not let it die.
  bool stalled_ = false;          // It has computed for long without ending a step.
  int64_t sampled_sequence_ = 0;  // Of settled resizes, at the last sample.
  SurplusThreads surplus_threads_;
  WorkingThreads working_threads_;
};

}  // namespace cosched
