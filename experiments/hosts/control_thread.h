#pragma once
// The thread of a hosted tenant that talks to the host: it beats, applies grants to the session's
// pools, keeps the process's other threads on the granted cores, answers, and ends the process when
// the host asks or is gone. The tenant's main thread calls it; Send from any thread.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/base/topology.h"
#include "experiments/hosts/hosted_tenant.h"
#include "experiments/hosts/shared_counters.h"
#include "experiments/hosts/tenant_protocol.h"
#include "experiments/hosts/unique_fd.h"

namespace cosched {

class Session;

class ControlThread {
 public:
  // Options and counters outlive it. Says hello.
  ControlThread(const HostedTenantOptions& options, UniqueFd host, SharedCounters* counters,
                const Topology& topology);
  ~ControlThread();  // REQUIRES: detached.
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  void Send(const TenantMessage& message);
  // From now on grants move this session; the latest one does so at once.
  void Attach(Session* session);
  void Detach();  // The session may go when this returns.
  // Blocks until the session's threads may work. REQUIRES: attached.
  void WaitToCompute();

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  void ReadMessages();
  void Take(const GrantMessage& grant);
  void Follow();
  void Answer();

  const HostedTenantOptions& options_;
  SharedCounters* const counters_;
  const Topology topology_;
  const UniqueFd socket_;
  const UniqueFd wake_;  // An eventfd: the main thread has news.

  std::mutex mutex_;  // Guards all below.
  std::condition_variable may_compute_;
  Session* session_ = nullptr;
  GrantMessage grant_;         // The latest.
  Clock::time_point arrived_;  // When it came.
  bool applied_ = false;       // The pools were told of it,
  bool answered_ = false;      // … have followed, and the host was told.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace cosched
