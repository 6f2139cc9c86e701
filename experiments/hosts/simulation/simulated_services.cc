// What simulated services do beside other tenants: their servers' speeds, and when they act next.

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/hosts/simulation/simulated_host_impl.h"
#include "workloads/batch_sizes.h"

namespace cosched {

void SimulatedHost::Impl::StartService(Id id) {
  const Described& plan = At(id).plan;
  At(id).service = std::make_unique<ServiceModel>(
      At(id).job, plan.batch, plan.max_delay,
      [this, program = plan.program, most = plan.batch](int count) {
        return programs.BatchFactor(program, PaddedBatch(count, most));
      });
  agenda.Add(id);
}

void SimulatedHost::Impl::Serve(Id id, const CoreSharing::Share& share) {
  Tenant& tenant = At(id);
  // Where amounts are granted, only those count that have something to do.
  const int servers =
      tenant.bandwidth ? std::max(1, tenant.service->Busy()) : tenant.place.threads.inter;
  CoreSharing::Share part = share;
  part.cores /= servers;
  part.granted /= servers;
  part.shared = part.shared || part.granted != std::floor(part.granted);
  const Split threads = DefaultSplit(std::max(1, tenant.runnable / servers));
  tenant.server_speed = MemoryFactor(tenant) *
                        programs.StepsPerSecond(tenant.plan.program, threads, part) / tenant.noise;
  tenant.disturbed_by = programs.Join(tenant.plan.program, servers * tenant.server_speed,
                                      &contention, &tenant.pressing);
  agenda.SetClock(id, tenant.disturbed_by);
}

void SimulatedHost::Impl::UpdateServers(Id id) {
  if (At(id).pipeline) return UpdatePipeline(id);
  const Tenant& tenant = At(id);
  const bool open = tenant.bandwidth
                        ? tenant.phase == Phase::kComputing && !tenant.place.Pauses() &&
                              !tenant.bandwidth->Stalled() && !IsStoppedByMove(tenant)
                        : tenant.runnable > 0;
  const int servers = open ? tenant.place.threads.inter : 0;
  const double speed = tenant.server_speed * executions.Speed(tenant.disturbed_by);
  Touch(id, [&](ServiceModel& service) { service.SetServers(servers, speed, now); });
}

void SimulatedHost::Impl::LeaveIfDrained(Id id) {
  const Tenant& tenant = At(id);
  if (!tenant.draining || tenant.phase != Phase::kComputing) return;
  if (tenant.pipeline ? tenant.pipeline->Empty() : tenant.service->Empty()) Complete(id);
}

void SimulatedHost::Impl::AdvanceService(Id id) {
  Touch(id, [&](ServiceModel& service) {
    service.Advance(now);
    std::ranges::move(service.Take(), std::back_inserter(answered));
  });
  LeaveIfDrained(id);
}

std::vector<RequestSample> SimulatedHost::TakeRequests() {
  return std::exchange(impl_->answered, {});
}

void SimulatedHost::WakeAtAnswers(bool wanted) { impl_->wakes_at_answers = wanted; }

int64_t SimulatedHost::ServiceTouches() const { return impl_->touches; }

void SimulatedHost::Send(const ServerId& server, const Request& request) {
  if (const auto* device = std::get_if<DeviceId>(&server)) {
    const Impl::Id id = impl_->devices.at(static_cast<size_t>(device->value));
    return impl_->TouchDevice(id, [&](DeviceModel& model) { model.Send(request, impl_->now); });
  }
  const auto job = std::get<JobId>(server);
  Impl::Tenant* tenant = impl_->Find(job);
  CHECK(tenant && tenant->Serves()) << "job " << job.value << " serves nobody";
  if (tenant->pipeline) return impl_->SendToPipeline(impl_->ids.at(job), request);
  impl_->Touch(impl_->ids.at(job),
               [&](ServiceModel& service) { service.Send(request, impl_->now); });
}

void SimulatedHost::Drain(JobId job) {
  Impl::Tenant* tenant = impl_->Find(job);
  CHECK(tenant && tenant->Serves()) << "job " << job.value << " serves nobody";
  tenant->draining = true;
  const Impl::Id id = impl_->ids.at(job);
  if (tenant->pipeline) return impl_->LeaveIfDrained(id);
  impl_->Touch(id, [&](ServiceModel& service) { service.Drain(impl_->now); });
  impl_->LeaveIfDrained(id);
}

Duration SimulatedHost::CpuTime(JobId job) {
  Impl::Tenant* tenant = impl_->Find(job);
  if (tenant == nullptr) return Duration(0);
  impl_->Count(tenant);
  return FromSeconds(tenant->run_time_s);
}

}  // namespace cosched
