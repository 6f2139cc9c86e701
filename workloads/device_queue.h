#pragma once
// Requests that wait for a modelled accelerator (device_profile.h), the batches that it makes of
// them, and its slots: which of them computes what, from when until when. Pure bookkeeping without
// threads or clocks, so that the device's process on hardware and the simulator do the same. What
// a request costs the host (host_cpu_s, host_wait_s) is over before it is submitted here. Not
// thread-safe.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/random.h"
#include "workloads/device_profile.h"

namespace cosched {

class DeviceQueue {
 public:
  // What the requests of a service run.
  struct Service {
    std::string model;
    int batch = 1;  // At most so many at once, and no more than the profile has.
  };
  // A slot is held for a batch.
  struct Hold {
    int slot = 0;              // 0-based.
    int service = 0;           // Index among the services.
    std::vector<int64_t> ids;  // Of its requests, in the order of their submission.
    TimePoint begin, planned_end;
  };

  // A service that the device does not serve is left out by nullopt. REQUIRES: at least one slot;
  // the profile has the model of each service, with at least one batch.
  DeviceQueue(DeviceProfile profile, int slots, const std::vector<std::optional<Service>>& services,
              uint64_t seed);
  DeviceQueue(DeviceQueue&&) = default;

  // `work`: the slot is held that many times as long. `due`: when the device has it. REQUIRES: the
  // device serves it; `due` is never earlier than at the call before.
  void Submit(int service, int64_t id, double work, TimePoint due);
  // A batch begins if there are a free slot, the lowest one, and a request that waits: the oldest,
  // with those of the same service behind it, in their order, as many as a batch may have. It
  // begins when the device had both, the slot and the oldest request, whenever its host notices,
  // and has only requests that were due by then: a host that wakes up late makes no device slower.
  // It takes what was drawn for a batch of their number, or of the next larger one that the profile
  // lists, times the largest work among them, plus switch_s if the slot's batch before was of
  // another model. nullopt if none can begin.
  std::optional<Hold> Begin();
  // It is free from its planned end on. REQUIRES: it is held.
  void End(int slot);

  int64_t Waiting() const { return waiting_; }  // Requests that no batch has taken yet.
  int Held() const { return held_; }            // Slots.

 private:
  struct Waiter {
    int64_t id = 0;
    double work = 1;
    int64_t place = 0;  // In the order of all submissions.
    TimePoint due;
  };
  struct Queue {
    const DeviceProfile::Model* model = nullptr;  // nullptr: not served.
    std::string model_name;
    size_t most = 0;  // In a batch.
    std::deque<Waiter> waiters;
  };
  struct Slot {
    bool held = false;
    std::string model;      // Of its last batch; "" = it had none yet.
    TimePoint planned_end;  // Of its last batch.
  };

  size_t Oldest() const;
  int FreeSlot() const;
  Duration DrawOccupancy(const DeviceProfile::Model& model, size_t batch, double work);

  DeviceProfile profile_;
  std::vector<Queue> queues_;  // By service.
  std::vector<Slot> slots_;
  Random random_;
  int64_t waiting_ = 0, submitted_ = 0;
  int held_ = 0;
  TimePoint last_due_;
};

}  // namespace cosched
