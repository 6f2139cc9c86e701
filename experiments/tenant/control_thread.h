#pragma once
// The thread of a tenant that lets it be resized from outside: it takes grants of a host, requests
// of `cosched ctl` and real-time signals, watches the cpuset and the CPU quota, applies what follows
// to the session's pools, keeps the process's other threads on the same cores, and tells everybody
// who has asked. It beats for the host, and ends the process when the host is gone or somebody says stop. The
// tenant's main thread makes and attaches it; Send and ResizeTo from any thread.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/topology.h"
#include "engine/base/unique_fd.h"
#include "engine/pool/duration_histogram.h"
#include "engine/pool/resize.h"
#include "experiments/os/actuator.h"
#include "experiments/tenant/control_server.h"
#include "experiments/tenant/cpu_limit_watch.h"
#include "experiments/tenant/cpuset_watch.h"
#include "experiments/tenant/demand.h"
#include "experiments/tenant/halving.h"
#include "experiments/tenant/resize_signals.h"
#include "experiments/tenant/step_meter.h"
#include "experiments/wire/control_socket.h"
#include "experiments/wire/request_packets.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_protocol.h"

namespace cosched {

class SteeredThreads;

struct ControlThreadOptions {
  std::string program;  // What it runs, for `cosched ctl TARGET status`.
  int64_t steps = 0;    // To do; 0 = until it is stopped.
  JobId job{-1};        // -1 = no host.
  Elasticity elasticity = Elasticity::kMalleable;
  Client client = Client::kOn;
  CpuSet cores;  // The first grant, or the cores that a person gave. The process is there already.
  Split threads;
  Split capacity;
  // Its host moves it by quotas: no thread of it is bound. Else a malleable one has fewer threads
  // where a quota of its cgroups gives CPU time for fewer.
  bool unbound = false;
  // What it makes of what others do to its cgroup.
  FollowRule follow = FollowRule::kCeil;
  // It has no say in how many threads there are, only where: a program of somebody else's.
  bool fixed_threads = false;
  std::string control;  // Where to listen; "" = nowhere.
  // A person asked for it: that it can't be had is an error, not only a line on stderr.
  bool needs_control = false;
  // Told of every resize but the first, and that somebody said stop; on the control thread, or in
  // AtNode and the like on the one that asked. Must not call back. Null: not told.
  std::function<void(const ResizedMessage&)> on_resized = {};
  std::function<void()> on_stop = {};
  // A person's: whether a signal has asked for an end, which a pause must not keep from coming. On
  // the control thread. Null: no signal asks.
  std::function<bool()> interrupted = {};
  // A hosted service's, on the control thread: what its host asks, and that it will not ask more.
  // Not called before Ready. Null: none is.
  std::function<void(const RequestPacket&)> on_requests = {};
  std::function<void()> on_drain = {};
  // The same: so many requests may be open in its pipeline. Null: it is none.
  std::function<void(int)> on_open_requests = {};
  std::function<void()> on_beat = {};  // The same, at each heartbeat. Null: not told.
  // What of a resize is its pools', where others have the rest (HostedServer::Share); on the thread
  // that resizes. Null: all.
  std::function<ResizeRequest(const ResizeRequest&)> share = {};
};

class ControlThread {
 public:
  // Counters and meter outlive it; no counters = no host. Says hello. Throws InputError if it can't
  // listen but must, and std::system_error, which the host is told, if there is no thread to be
  // had. REQUIRES: ResizeSignals::Block() before any thread was started.
  ControlThread(ControlThreadOptions options, UniqueFd host, SharedCounters* counters,
                const StepMeter* meter, const Topology& topology);
  ~ControlThread();  // REQUIRES: detached.
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  void Send(const TenantMessage& message);  // To the host, if there is one.
  // From now on everybody moves these threads. When this returns they follow the latest grant, and
  // have never followed another: REQUIRES: nobody has resized them before.
  void Attach(SteeredThreads* pools);
  // The tenant can compute: the host hears when the grant is in effect. REQUIRES: attached, once.
  void Ready();
  void Detach();  // The pools may go when this returns.
  // Blocks until the pools' threads may work. REQUIRES: attached.
  void WaitToCompute();
  // Latencies of the resizes that were told, by the op that ran at the request ("" = none).
  struct Latencies {
    DurationHistogram grow, shrink;
  };
  std::map<std::string, Latencies> LatenciesByOp();
  // A counter of the run has come to where it asks for this many cores, and perhaps a split.
  // Returns why not, or "".
  std::string ResizeTo(int cores, std::optional<Split> split);

 private:
  using Clock = std::chrono::steady_clock;

  // Somebody who waits for a resize to settle.
  struct Asker {
    ControlServer::Client client = 0;
    int64_t id = 0;
  };

  bool Hosted() const { return counters_ != nullptr; }
  // The tenant can answer requests.
  bool Serves() const { return options_.on_requests && ready_ && pools_ != nullptr; }
  bool Malleable() const { return options_.elasticity == Elasticity::kMalleable; }
  bool Follows() const { return Malleable() && options_.client == Client::kOn; }
  // … also what others make of its cores.
  bool FollowsCpuset() const { return Follows() && options_.follow != FollowRule::kKeep; }

  void Listen();
  void Run();
  bool Wait();
  void TakeWhatArrived();
  void Adopt();
  int PollTimeout() const;
  void Beat();

  void ReadHost();
  void TakeRequests(std::string_view packet);
  void TakeGrant(const GrantMessage& grant);
  void TellOpenRequests();
  void Halve();
  void AnswerGrant();
  void AnswerIfMoved();

  int64_t Apply(ResizeCause cause);
  void LookAtCpuset();
  void LookAtQuota();
  void Repin();
  bool TakeSignal(ResizeSignal signal, int value);
  void TakeReports();
  void TakeReport(const ResizeReport& report);
  void AdoptCounter(const ResizeReport& report);
  void Publish(const ResizeReport& report);
  void Tell(const ResizedMessage& resized);
  void TellHeldBack();

  void TakeRequest(ControlServer::Client client, const ControlRequest& request);
  std::string TakeChange(const ControlRequest& request);
  StatusReply Status(int64_t id);
  void Stop(ControlServer::Client client, int64_t id);
  void EndPause();
  // Ends the process, without destructors: the main thread may be in the middle of a step.
  [[noreturn]] void End(const char* why);

  const ControlThreadOptions options_;
  SharedCounters* const counters_;
  const StepMeter* const meter_;
  const Topology topology_;
  const UniqueFd socket_;  // To the host.
  const UniqueFd wake_;    // An eventfd: another thread has news.
  std::optional<ControlListener> listener_;
  std::optional<ControlServer> server_;
  ResizeSignals signals_;
  std::optional<CpusetWatch> watch_;    // Made on the control thread, …
  std::optional<CpuLimitWatch> limit_;  // … where it follows quotas.

  std::mutex mutex_;  // Guards all below, up to the reports.
  std::condition_variable may_compute_, adoption_;
  SteeredThreads* pools_ = nullptr;
  bool adopted_ = false;      // They follow what is wanted, …
  int64_t first_resize_ = 0;  // … since this one.
  bool ready_ = false;
  TenantDemand demand_;
  pid_t witness_ = 0;          // The control thread, which must keep the mask it has.
  GrantMessage grant_;         // The latest.
  Clock::time_point arrived_;  // When it came.
  int64_t grant_resize_ = 0;   // The resize that follows it; 0 = not told to the pools yet.
  bool moved_ = false;         // The threads have followed, …
  bool answered_ = false;      // … and the host was told.
  std::map<int64_t, std::vector<Asker>> askers_;  // By the resize they wait for.
  // What was last told of the pools.
  std::optional<Split> split_;
  CpuSet cores_;
  std::map<std::string, Latencies> latencies_;
  // Caused by a cpuset that a grant may explain yet.
  std::optional<ResizedMessage> held_back_;
  Halving halving_;
  Clock::time_point held_until_, next_beat_;
  std::deque<Clock::time_point> repins_;  // When pins are to be set again.
  bool stopping_ = false;

  std::mutex reports_mutex_;  // Innermost: held by pool threads that report.
  std::vector<ResizeReport> reports_;

  std::thread thread_;
};

}  // namespace cosched
