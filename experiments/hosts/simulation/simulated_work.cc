// How fast simulated tenants compute on the cores and beside the others of the moment, and what
// they have used.

#include <algorithm>

#include "experiments/hosts/simulation/simulated_host_impl.h"

namespace cosched {

int SimulatedHost::Impl::Awake(const Tenant& tenant) {
  const int cores = tenant.place.cores.Count();
  const int threads = ThreadsOf(tenant.place.threads);
  if (tenant.phase != Phase::kComputing || cores == 0) return 0;
  if (tenant.bandwidth && tenant.bandwidth->Stalled()) return 0;
  if (IsStoppedByMove(tenant)) return 0;
  int awake = tenant.malleable ? std::min(threads, cores) : threads;
  // Where amounts are granted, threads that wait for requests are in nobody's way.
  if (tenant.service && tenant.bandwidth) {
    const int servers = std::max(1, tenant.place.threads.inter);
    awake = awake * std::min(tenant.service->Busy(), servers) / servers;
  }
  if (tenant.pipeline && tenant.bandwidth) awake = std::min(awake, tenant.pipeline->Threads());
  if (!tenant.chaos) return awake;
  return tenant.chaos->Computes() ? tenant.chaos->Threads(awake) : 0;
}

void SimulatedHost::Impl::Compute(Id id) {
  const Tenant& tenant = At(id);
  const int threads = Awake(tenant);
  sharing.Place(id, tenant.place.cores, threads,
                tenant.chaos ? 1 : programs.Weight(tenant.plan.program, threads));
}

void SimulatedHost::Impl::Refresh() {
  do {
    refresh_again = false;
    RefreshOnce();
  } while (refresh_again);
}

void SimulatedHost::Impl::RefreshOnce() {
  std::vector<Id> moved;  // Services and devices.
  for (const Id id : sharing.TakeChanged()) {
    Tenant& tenant = At(id);
    if (tenant.device) moved.push_back(id);
    if (tenant.phase != Phase::kComputing) continue;
    if (tenant.Serves()) moved.push_back(id);
    Count(&tenant);
    LeaveOthers(&tenant);
    const int awake = Awake(tenant);
    if (awake == 0) {
      tenant.busy = 0;
      tenant.runnable = 0;
      SetRate(id, 0, 0);
      Spend(id);
      continue;
    }
    const CoreSharing::Share share = sharing.Of(id);
    tenant.busy = share.cores;
    tenant.runnable = awake;
    Spend(id);
    if (tenant.chaos) {
      SetRate(id, 0, 1 / ToSeconds(kChaosStep));
      continue;
    }
    tenant.among_others = true;
    if (tenant.pipeline) {
      ServePipeline(id, share);
      continue;
    }
    if (tenant.service) {
      Serve(id, share);
      continue;
    }
    const double speed = MemoryFactor(tenant) *
                         programs.StepsPerSecond(tenant.plan.program, tenant.place.threads, share);
    const Executions::ClockId clock =
        programs.Join(tenant.plan.program, speed, &contention, &tenant.pressing);
    SetRate(id, clock, speed / tenant.noise);
  }
  for (const Executions::ClockId clock : contention.Update(Seconds())) {
    if (options.steps) log.OnSpeed(clock, Seconds());
    if (agenda.Empty()) continue;
    for (const Id id : agenda.On(clock)) UpdateServers(id);
  }
  for (const Id id : moved) At(id).device ? SetHostSpeed(id) : UpdateServers(id);
}

void SimulatedHost::Impl::SetRate(Id id, Executions::ClockId clock, double rate) {
  executions.SetRate(id, clock, rate, Seconds());
  if (options.steps) log.SetRate(id, clock, rate, At(id).runnable, Seconds());
}

double SimulatedHost::Impl::Working(const Tenant& tenant) {
  const auto awake = static_cast<double>(tenant.runnable);
  // Where amounts are granted, nobody else is awake.
  if (tenant.bandwidth || awake == 0) return awake;
  if (tenant.pipeline) return std::min<double>(awake, tenant.pipeline->Threads());
  if (!tenant.service) return awake;
  const int servers = std::max(1, tenant.place.threads.inter);
  return awake * std::min(tenant.service->Busy(), servers) / servers;
}

void SimulatedHost::Impl::Count(Tenant* tenant) const {
  const double passed = ToSeconds(now - tenant->since);
  const double part = tenant->runnable > 0 ? Working(*tenant) / tenant->runnable : 0;
  tenant->run_time_s += passed * tenant->busy * part;
  tenant->wait_s += passed * std::max(0.0, tenant->runnable - tenant->busy) * part;
  tenant->since = now;
}

void SimulatedHost::Impl::LeaveOthers(Tenant* tenant) {
  if (std::exchange(tenant->among_others, false))
    contention.Leave(tenant->plan.program, tenant->pressing);
}

void SimulatedHost::Impl::Withdraw(Id id) {
  Tenant& tenant = At(id);
  Count(&tenant);
  LeaveOthers(&tenant);
  tenant.busy = 0;
  tenant.runnable = 0;
  executions.SetRate(id, 0, 0, Seconds());
  sharing.Place(id, {}, 0);
}

}  // namespace cosched
