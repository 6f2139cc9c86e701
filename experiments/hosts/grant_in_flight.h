#pragma once
// The latest grant of one tenant, from the moment the policy makes it until its threads are where
// it wants them, and the SIGSTOP in which a pause ends: what is granted, how far it has come, and
// until when. Pure bookkeeping: a SupervisedTenant sends, moves, stops and looks, and tells these
// two what it did and saw. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/base/clock.h"
#include "policies/place.h"

namespace cosched {

class GrantInFlight {
 public:
  enum class State {
    kBegun,     // The policy has made it; nothing is done yet, the tenant may not have connected.
    kMoving,    // A container's runtime is moving the tenant's cgroup; the tenant knows nothing.
    kApplied,   // The host has done its part: group or threads moved, message sent, or stopped.
    kAnswered,  // The tenant says that it follows, or need not say it; its threads may be anywhere.
    kSettled,   // The kernel shows every thread in its place; cores that were left are free.
  };

  // The first grant is applied at once: the process is started on its cores.
  explicit GrantInFlight(const Place& place)
      : place_(place), held_(place.cores), held_amount_(place.amount) {}

  // The next grant, however far this one has come. What it takes away must be left
  // `revocation_deadline` from now, or as long before as an earlier one took some.
  void Begin(const Place& place, TimePoint now, Duration revocation_deadline);
  void Move();    // The tenant's group is on its way.
  void Apply();   // The host's part is done.
  void Answer();  // The tenant's; means nothing before it has been told, or a second time.
  void Settle();  // The tenant's threads are in their place. REQUIRES: it is applied.
  // REQUIRES, if cores must be left: it is not applied. Their time begins anew.
  void DelayRevocation(TimePoint now, Duration revocation_deadline);

  bool Moving() const { return state_ == State::kMoving; }
  bool Applied() const { return state_ >= State::kApplied; }
  bool Answered() const { return state_ >= State::kAnswered; }
  bool Settled() const { return state_ == State::kSettled; }
  bool Pauses() const { return place_.Pauses(); }

  const Place& Wanted() const { return place_; }
  const CpuSet& Cores() const { return place_.cores; }  // None = a pause.
  // These, and until it settles what it may still use.
  const CpuSet& Held() const { return held_; }
  CpuShare HeldAmount() const { return held_amount_; }
  int64_t Sequence() const { return sequence_; }  // The first is 1.
  // When what it takes away must be left; nullopt = it takes nothing.
  std::optional<TimePoint> RevocationTime() const { return revocation_time_; }
  bool RevocationIsDue(TimePoint now) const { return revocation_time_ && now >= *revocation_time_; }

 private:
  State state_ = State::kApplied;
  Place place_;
  CpuSet held_;
  CpuShare held_amount_;
  int64_t sequence_ = 1;
  std::optional<TimePoint> revocation_time_;
};

class ProcessStop {
 public:
  enum class State {
    kRunning,    // No stop is wanted: the process runs, or starts.
    kStopping,   // SIGSTOP is sent; some threads may not have taken it.
    kStopped,    // Every thread was seen stopped, and the records tell it.
    kRestopped,  // Somebody else let it go on, and it was stopped again; it may not run once more.
  };

  bool Wanted() const { return state_ != State::kRunning; }
  // The caller sends the signal if it returns true: the process was running.
  bool Begin();     // SIGSTOP.
  bool Continue();  // SIGCONT; false if it was running.

  // Every thread is stopped. How long that took, the first time. REQUIRES: a stop is wanted.
  std::optional<std::chrono::nanoseconds> SeeStopped();
  // Some thread runs, though all were stopped. True: stop it again; false: that was done before,
  // since the last pause settled. REQUIRES: SeeStopped was called since the stop began.
  bool SeeRunning();
  // The latest grant has settled: what others did before is forgotten.
  void Settle();

 private:
  State state_ = State::kRunning;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace cosched
