#include "experiments/hosts/simulation/device_model.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {
namespace {

constexpr Executions::ClockId kHostClock = 0;

DeviceQueue QueueOf(const DeviceSpec& spec) {
  std::vector<std::optional<DeviceQueue::Service>> services;
  for (const std::optional<TenantSpec>& service : spec.services) {
    services.emplace_back();
    if (service) services.back() = {.model = service->model, .batch = service->batch};
  }
  return {*spec.profile, spec.slots, services, spec.seed};
}

}  // namespace

DeviceModel::DeviceModel(const DeviceSpec& spec, int host_threads)
    : id_(spec.id), at_host_(static_cast<size_t>(host_threads)), queue_(QueueOf(spec)) {
  CHECK(host_threads >= 1) << "device " << spec.name << " without a host thread";
  CHECK(host_.AddClock(0) == kHostClock);
  for (const std::optional<TenantSpec>& service : spec.services) {
    Service& figures = services_.emplace_back();
    if (!service) continue;
    const DeviceProfile::Model& model = *spec.profile->Find(service->model);
    figures = {.host_cpu_s = model.host_cpu_s, .host_wait = FromSeconds(model.host_wait_s)};
  }
}

void DeviceModel::Send(const Request& request, TimePoint now) {
  arrived_.push_back({.sample = {.server = id_,
                                 .id = request.id,
                                 .scheduled = request.scheduled,
                                 .received = now,
                                 .started = {},
                                 .finished = {}},
                      .service = static_cast<size_t>(request.service.value),
                      .work = request.work});
  StartHostWork(now);
}

void DeviceModel::SetHostSpeed(double speed, TimePoint now) {
  host_.SetSpeed(kHostClock, speed, ToSeconds(now));
}

// What costs no CPU time needs no thread.
void DeviceModel::StartHostWork(TimePoint now) {
  while (!arrived_.empty()) {
    const double cpu_s = services_[arrived_.front().service].host_cpu_s;
    const auto thread = std::ranges::find_if(
        at_host_, [](const std::optional<Asked>& one) { return !one.has_value(); });
    if (cpu_s > 0 && thread == at_host_.end()) return;
    const Asked request = arrived_.front();
    arrived_.pop_front();
    if (cpu_s <= 0) {
      LeaveHost(request, now);
      continue;
    }
    const auto index = static_cast<Executions::Id>(thread - at_host_.begin());
    *thread = request;
    ++busy_;
    host_.Add(index, cpu_s);
    host_.SetRate(index, kHostClock, 1, ToSeconds(now));
  }
}

void DeviceModel::LeaveHost(const Asked& request, TimePoint now) {
  waiting_.emplace(now + services_[request.service].host_wait, request);
}

void DeviceModel::BeginHolds() {
  while (std::optional<DeviceQueue::Hold> hold = queue_.Begin()) {
    for (const int64_t id : hold->ids) submitted_.at(id).sample.started = hold->begin;
    held_.emplace(hold->planned_end, std::move(*hold));
  }
}

void DeviceModel::EndHold() {
  const DeviceQueue::Hold hold = std::move(held_.begin()->second);
  held_.erase(held_.begin());
  queue_.End(hold.slot);
  const auto batch = static_cast<int>(hold.ids.size());
  for (const int64_t id : hold.ids) {
    RequestSample& sample = answered_.emplace_back(submitted_.at(id).sample);
    sample.finished = hold.planned_end;
    sample.batch = batch;
    submitted_.erase(id);
  }
  holds_.push_back({.device = id_,
                    .slot = hold.slot,
                    .service = {hold.service},
                    .batch = batch,
                    .begin = hold.begin,
                    .end = hold.planned_end,
                    .planned_end = hold.planned_end});
}

std::optional<TimePoint> DeviceModel::NextEvent() const {
  std::optional<TimePoint> next;
  const auto consider = [&next](TimePoint time) { next = next ? std::min(*next, time) : time; };
  if (const auto completion = host_.Next()) consider(NotBefore(completion->time));
  if (!waiting_.empty()) consider(waiting_.begin()->first);
  if (!held_.empty()) consider(held_.begin()->first);
  return next;
}

void DeviceModel::Advance(TimePoint now) {
  while (const auto completion = host_.Next()) {
    const TimePoint completed = NotBefore(completion->time);
    if (completed > now) break;
    std::optional<Asked>& request = at_host_[static_cast<size_t>(completion->id)];
    host_.Remove(completion->id);
    --busy_;
    LeaveHost(*std::exchange(request, std::nullopt), completed);
    StartHostWork(now);
  }
  // Whose slot is free takes part in the next batch.
  while (!held_.empty() && held_.begin()->first <= now) EndHold();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    const Asked& request =
        submitted_.emplace(waiting_.begin()->second.sample.id, waiting_.begin()->second)
            .first->second;
    queue_.Submit(static_cast<int>(request.service), request.sample.id, request.work,
                  waiting_.begin()->first);
    waiting_.erase(waiting_.begin());
  }
  BeginHolds();
}

std::vector<RequestSample> DeviceModel::TakeAnswers() { return std::exchange(answered_, {}); }

std::vector<HoldSample> DeviceModel::TakeHolds() { return std::exchange(holds_, {}); }

}  // namespace cosched
