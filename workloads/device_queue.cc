#include "workloads/device_queue.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "workloads/draw_delay.h"

namespace cosched {

DeviceQueue::DeviceQueue(DeviceProfile profile, int slots,
                         const std::vector<std::optional<Service>>& services, uint64_t seed)
    : profile_(std::move(profile)), slots_(static_cast<size_t>(std::max(slots, 0))), random_(seed) {
  CHECK(slots >= 1) << "device " << profile_.name << " has " << slots << " slots";
  for (const std::optional<Service>& service : services) {
    Queue& queue = queues_.emplace_back();
    if (!service) continue;
    queue.model_name = service->model;
    queue.model = profile_.Find(service->model);
    CHECK(queue.model != nullptr && !queue.model->occupancy_s.empty() && service->batch >= 1)
        << "device " << profile_.name << " cannot serve " << service->model;
    const int listed = queue.model->occupancy_s.rbegin()->first;
    queue.most = static_cast<size_t>(std::min(service->batch, listed));
  }
}

void DeviceQueue::Submit(int service, int64_t id, double work, TimePoint due) {
  const auto index = static_cast<size_t>(service);
  CHECK(service >= 0 && index < queues_.size() && queues_[index].model != nullptr)
      << "device " << profile_.name << " does not serve service " << service;
  CHECK(due >= last_due_) << "device " << profile_.name << ": time goes back";
  last_due_ = due;
  queues_[index].waiters.push_back({id, work, submitted_++, due});
  ++waiting_;
}

// Index of the service whose oldest request has waited longest. REQUIRES: one waits.
size_t DeviceQueue::Oldest() const {
  size_t oldest = queues_.size();
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].waiters.empty()) continue;
    if (oldest == queues_.size() ||
        queues_[i].waiters.front().place < queues_[oldest].waiters.front().place) {
      oldest = i;
    }
  }
  return oldest;
}

// REQUIRES: one is free.
int DeviceQueue::FreeSlot() const {
  const auto free = std::ranges::find(slots_, false, &Slot::held);
  return static_cast<int>(free - slots_.begin());
}

Duration DeviceQueue::DrawOccupancy(const DeviceProfile::Model& model, size_t batch, double work) {
  const auto listed = model.occupancy_s.lower_bound(static_cast<int>(batch));
  return std::chrono::duration_cast<Duration>(DrawDelay(listed->second, &random_) * work);
}

std::optional<DeviceQueue::Hold> DeviceQueue::Begin() {
  if (waiting_ == 0 || held_ == static_cast<int>(slots_.size())) return std::nullopt;
  const size_t service = Oldest();
  Queue& queue = queues_[service];
  const int free = FreeSlot();
  Slot& slot = slots_[static_cast<size_t>(free)];
  const TimePoint begin = std::max(slot.planned_end, queue.waiters.front().due);
  Hold hold{free, static_cast<int>(service), {}, begin, begin};
  double work = 0;
  while (!queue.waiters.empty() && hold.ids.size() < queue.most &&
         queue.waiters.front().due <= begin) {
    hold.ids.push_back(queue.waiters.front().id);
    work = std::max(work, queue.waiters.front().work);
    queue.waiters.pop_front();
  }
  waiting_ -= static_cast<int64_t>(hold.ids.size());
  hold.planned_end += DrawOccupancy(*queue.model, hold.ids.size(), work);
  if (!slot.model.empty() && slot.model != queue.model_name) {
    hold.planned_end += FromSeconds(profile_.switch_s);
  }
  slot = {.held = true, .model = queue.model_name, .planned_end = hold.planned_end};
  ++held_;
  return hold;
}

void DeviceQueue::End(int slot) {
  const auto index = static_cast<size_t>(slot);
  CHECK(slot >= 0 && index < slots_.size() && slots_[index].held)
      << "device " << profile_.name << ": slot " << slot << " is not held";
  slots_[index].held = false;
  --held_;
}

}  // namespace cosched
