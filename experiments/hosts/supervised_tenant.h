#pragma once
// One running tenant as its host sees it, whatever it runs in: its process, its socket, its
// counters, the grant it should follow and all that may go wrong. Advance() does everything that
// time or the tenant's messages ask for. Called by ProcessHost. Not thread-safe.
//
// Three state machines run side by side: the tenant's Life, its GrantInFlight and its ProcessStop.
//
// A grant moves the tenant's cgroup first, if it has one, and then tells the tenant, if it listens.
// The host believes the kernel, not the tenant: a grant has settled when the tenant says so *and*
// every thread of its process is within it (malleable), or when what the host sets from outside has
// stuck (rigid, moldable, and in containers a client that is off or takes its time). A grant of
// less CPU time takes effect with the write of the quota; it settles like one of cores.
//
// A pause leaves nothing behind on the cores: when a malleable tenant's pools have parked, at once
// for all others, the host stops the whole process (SIGSTOP), so that its main thread loads no
// batch and prepares no run meanwhile, and the pause has settled when the kernel shows every thread
// stopped. The next grant first moves the threads, then lets them go on. A process that is stopped
// beats no more, and answers neither requests, which wait here, nor `cosched ctl`.

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/topology.h"
#include "experiments/hosts/grant_in_flight.h"
#include "experiments/hosts/leaving_time.h"
#include "experiments/hosts/tenant_claims.h"
#include "experiments/hosts/tenant_conduct.h"
#include "experiments/hosts/tenant_launcher.h"
#include "experiments/hosts/tenant_reports.h"
#include "experiments/hosts/tenant_requests.h"
#include "experiments/hosts/tenant_sampling.h"
#include "experiments/hosts/tenant_timeouts.h"
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
    bool has_quota = false;  // It may have a part of its cores' time, wherever there.
    Client client = Client::kOn;
    TenantTimeouts timeouts;
    bool sample_threads = false;  // Samples list every thread.
  };

  // Starts it. Throws std::runtime_error if that is refused. The launcher outlives it. `epoch` is
  // the MonotonicNow() of TimePoint zero.
  SupervisedTenant(const Job& job, const TenantSpec& spec, const Place& place,
                   const Settings& settings, TenantLauncher* launcher, TimePoint now,
                   Duration epoch);

  void Grant(const Place& place, TimePoint now);
  void Pause(TimePoint now) { Grant(Place::Paused(), now); }
  void Kill() { survived_kill_ = !launched_->Kill(); }

  // REQUIRES, of all four: it serves. One that has not begun, or is paused, gets them later.
  void Send(const Request& request, TimePoint now) { requests_->Send(request, now); }
  void Drain() { requests_->Drain(); }
  void TakeAnswered(std::vector<RequestSample>* answered) { requests_->TakeAnswered(answered); }
  bool HasAnswers() const { return requests_->HasAnswers(); }
  bool Serves() const { return requests_.has_value(); }
  // It does not do just that much work: networks run a whole number of times.
  bool Rounds(double work) const {
    return !spec_.IsPipeline() && (work < 1 || work != std::floor(work));
  }
  PipelineCounters Pipeline() const {  // As the tenant says.
    return spec_.IsPipeline() ? counters_.ReadPipeline() : PipelineCounters();
  }

  // Reads what has arrived and checks what is due. HostFinished and HostFailed mean that the
  // process is gone.
  std::optional<HostEvent> Advance(TimePoint now);
  // Advance wants to be called when one of the descriptors is readable, and at this time.
  TimePoint NextCheck() const { return next_check_; }
  std::vector<int> Descriptors() const;

  const CpuSet& Cores() const { return grant_.Cores(); }  // Of the latest grant; none = a pause.
  std::vector<pid_t> Processes() const;                   // None that are not known yet.
  // Takes the NUMA nodes that it may have memory on; -1: nothing does.
  int MemoryFile() const { return launched_->MemoryFile(); }

  // Of its processes, which may be none yet; nullopt if they are gone.
  std::optional<Duration> CpuTime() const { return CpuTimeOfAll(*launched_); }
  Duration UsedByOthersChildren() const { return launched_->UsedByOthersChildren(); }
  double Progress() const;                            // 0..1; 0 where nobody knows.
  std::optional<TenantSample> Sample(TimePoint now);  // nullopt if the process has just gone.
  TenantSample LastSample(TimePoint now);             // When it is gone: all that was seen of it.
  void TakeSteps(TimePoint now, std::vector<StepSample>* steps);
  // What a reader of the records must know of it, such as steps that are missing there; when it is
  // gone.
  std::vector<std::string> Marks() const;
  void TakeResizes(TimePoint now, std::vector<ResizeSample>* resizes) {
    reports_.TakeResizes(now, resizes);
  }
  void TakeActuations(std::vector<ActuationSample>* actuations) {
    reports_.TakeActuations(actuations);
  }

 private:
  // How far the tenant has come, by its own messages. Its process may end, and its end of the
  // socket close, at any of them.
  enum class Life {
    kStarting,  // The process starts, connects, or sets up without having said a word.
    kGreeted,   // The tenant has said hello for this job, and prepares its first step or request.
    kReady,     // A first grant has settled: the tenant can compute, and must show signs of life.
    kFinished,  // All its steps are done, or was drained; only the end of its process is awaited.
  };

  bool Malleable() const { return job_.elasticity == Elasticity::kMalleable; }
  // The tenant gets its grants as messages; else its process is stopped and moved from outside.
  bool FollowsMessages() const { return Malleable() && settings_.client != Client::kOff; }
  // It is moved and stopped by the host in any case: a program of somebody else's, which follows its
  // messages when it comes to it.
  bool IsMovedByHost() const { return !FollowsMessages() || spec_.IsCommand(); }
  // … and a grant has settled only when it has answered.
  bool SettlesOnAnswer() const;

  void AttachProcess();
  void BeginLeaving(TimePoint now);
  bool HadTimeToLeave(TimePoint now);
  void ApplyGrant(TimePoint now);
  void ApplyPause(TimePoint now);
  bool MoveGroup(TimePoint now);
  void MoveThreads(TimePoint now);
  void Confine();
  void SendGrant(TimePoint now);
  void Stop(TimePoint now);
  void AllowForDelay(Duration delay);
  void Record(TimePoint now, const LaunchedTenant::Times& times);
  void SettleGrant(TimePoint now);

  void Reach(Life next);
  void Fail(std::string reason);  // The first reason stays; "" is none.

  void ReadMessages(TimePoint now);
  bool TakeAnswers(const std::string& packet, TimePoint now);
  void FlushRequests(TimePoint now);
  void Handle(const HelloMessage& hello, TimePoint now);
  void Handle(const SettledMessage& settled, TimePoint now);
  void Handle(const ResizedMessage& resized, TimePoint now);
  void Handle(const FinishedMessage& finished, TimePoint now);
  void Handle(const ErrorMessage& error, TimePoint now);

  HostEvent Over(const TenantProcess::End& end) const;
  bool AtItsPlace(TimePoint now);
  bool HasHeard() const;
  bool HasStopped(TimePoint now);
  void CheckDeadlines(TimePoint now);
  void CheckConduct(TimePoint now);
  void CheckPlace();
  void CheckStop();
  TenantConduct::Signs ReadSigns() const;
  bool Overdue(TimePoint now) const;
  Duration CheckPeriod() const;
  void PlanNextCheck(TimePoint now);
  TenantSampling::Moment MomentAt(TimePoint now) const;

  const Job job_;
  const TenantSpec spec_;
  const Settings settings_;
  const Duration epoch_;
  SharedCounters counters_;
  TenantClaims claims_;
  std::optional<TenantRequests> requests_;  // A service's.
  std::unique_ptr<LaunchedTenant> launched_;
  std::optional<ProcessSampler> sampler_;  // Once its process is known.
  std::optional<ControlLink> control_;

  Life life_ = Life::kStarting;
  GrantInFlight grant_;
  ProcessStop stop_;
  TimePoint stopped_;              // When the latest stop began.
  bool closed_ = false;            // The tenant's end of the socket is closed.
  bool paused_by_others_ = false;  // A person has paused it (cosched ctl), not its host.
  bool survived_kill_ = false;     // The tenant was killed, but the kernel has not let it die.
  std::string failure_;            // Why it must go; "" = it may stay.
  std::string remark_;             // Its last word; "" = none.
  int64_t answered_ = 0;           // The latest grant that it said it follows, by its sequence.
  int64_t moved_back_ = 0;         // How often it was seen on cores that it had bound itself to.

  // By when it must be ready, have followed some grant if the latest has not settled, and be gone
  // once it has finished or closed its socket.
  TimePoint ready_deadline_, settle_deadline_, leave_deadline_;
  TimePoint next_check_, next_conduct_check_;
  TenantConduct conduct_;
  TenantReports reports_;
  LeavingTime leaving_;
  TenantSampling sampling_;
};

}  // namespace cosched
