#pragma once
// A device of an experiment ([[device]]), as its host starts it, and what its host tells of it.
// Plain data shared by harness and hosts.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/service.h"
#include "workloads/device_profile.h"

namespace cosched {

struct DeviceSpec {
  DeviceId id;
  std::string name;
  std::shared_ptr<const DeviceProfile> profile;
  CpuSet cores;       // Its node's, one or more: where requests are decoded for it.
  int slots = 1;      // Batches that it computes at once.
  uint64_t seed = 0;  // Of the occupancies that it draws.
  // By ServiceId: what its requests run; nullopt = the device does not serve it.
  std::vector<std::optional<TenantSpec>> services;
};

// A slot of a device was held for a batch.
struct HoldSample {
  DeviceId device;
  int slot = 0;  // 0-based.
  ServiceId service;
  int batch = 1;
  TimePoint begin, end;
  TimePoint planned_end;  // begin + what was drawn from the profile; `end` is never earlier.
};

}  // namespace cosched
