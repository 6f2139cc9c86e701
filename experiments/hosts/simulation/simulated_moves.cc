// What a grant does to a simulated tenant: when it moves, and when that has settled.

#include "experiments/hosts/simulation/delays.h"
#include "experiments/hosts/simulation/simulated_host_impl.h"
#include "experiments/hosts/within.h"
#include "workloads/draw_delay.h"

namespace cosched {

void SimulatedHost::Impl::Move(JobId job, const Place& place) {
  const auto found = ids.find(job);
  CHECK(found != ids.end()) << "job " << job.value << " is granted cores but does not run";
  const Id id = found->second;
  Tenant& tenant = At(id);
  Count(&tenant);
  const CpuSet leaves = tenant.Held() - place.cores;
  const Split threads = tenant.malleable ? place.threads : tenant.place.threads;
  tenant.target = {place.cores, place.amount, threads, place.open_requests};
  tenant.settling = true;
  tenant.asked = now;
  tenant.settle_timer = -1;
  Limit(id);
  switch (tenant.phase) {
    case Phase::kStarting: return MoveStarting(id, leaves);
    case Phase::kComputing: return MoveComputing(id, leaves);
    case Phase::kLeaving:
      if (!leaves.Empty()) EndBy(id, now + options.revocation_deadline);
  }
}

void SimulatedHost::Impl::MoveStarting(Id id, const CpuSet& leaves) {
  Tenant& tenant = At(id);
  const bool was_paused = tenant.place.Pauses();
  tenant.place = tenant.target;
  if (tenant.place.Pauses() && !was_paused) {
    tenant.start_left = tenant.ready_at - now;
    tenant.ready_timer = -1;
  } else if (was_paused && !tenant.place.Pauses() && tenant.end_timer < 0) {
    MakeReady(id, tenant.start_left);
  }
  if (!leaves.Empty()) tenant.settle_timer = timers.Arm(id, now);
}

void SimulatedHost::Impl::MoveComputing(Id id, const CpuSet& leaves) {
  Tenant& tenant = At(id);
  if (leaves.Empty() && !tenant.failure.empty() && !tenant.chaos) {  // A failed one need not leave.
    tenant.failure.clear();
    tenant.end_timer = -1;
  }
  if (tenant.chaos) {
    if (const auto end = tenant.chaos->Move(leaves)) FailBy(id, *end);
    if (!tenant.chaos->Follows()) return;
  }
  Duration delay{0};
  if (tenant.malleable && options.model.resize_delay) {
    const DelayQuantiles& delays =
        ResizeDelayOf(options.profile->resize, tenant.place.cores, tenant.target.cores);
    delay = DrawDelay(delays, &tenant.random);
  }
  if (!tenant.malleable) Settle(id);
  if (!leaves.Empty() && delay > options.revocation_deadline) {
    tenant.failure =
        "did not leave cores " + leaves.ToString() + Within(options.revocation_deadline);
    return EndBy(id, now + options.revocation_deadline);
  }
  tenant.settle_timer = timers.Arm(id, now + delay);
}

void SimulatedHost::Impl::Settle(Id id) {
  Tenant& tenant = At(id);
  Count(&tenant);
  tenant.place = tenant.target;
  FollowWithMemory(id);
  if (tenant.phase == Phase::kComputing) Compute(id);
}

HostEvent SimulatedHost::Impl::Settled(Id id) {
  Tenant& tenant = At(id);
  tenant.settle_timer = -1;
  tenant.settling = false;
  tenant.settled_lately = true;
  if (tenant.malleable && tenant.phase == Phase::kComputing) {
    TellResize(tenant, "grant", tenant.place, tenant.target, now - tenant.asked);
    Settle(id);
  }
  return HostSettled{tenant.job};
}

void SimulatedHost::Impl::TellResize(const Tenant& tenant, const char* cause, const Place& before,
                                     const Place& after, Duration taken) {
  if (!options.resizes) return;
  const auto split = [](const Place& place) {
    return place.Pauses() ? Split{0, 0} : place.threads;
  };
  resizes.push_back({.job = tenant.job,
                     .time = now,
                     .cause = cause,
                     .before = split(before),
                     .after = split(after),
                     .cores = after.cores,
                     .op = "",
                     .taken = taken});
}

}  // namespace cosched
