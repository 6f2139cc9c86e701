#pragma once
// What policies are told of an experiment's devices: how much of a window their slots were held.
// Called by the harness, one thread.

#include <vector>

#include "experiments/config/experiment_config.h"
#include "experiments/wire/device_spec.h"
#include "policies/service.h"

namespace cosched {

class DeviceWindows {
 public:
  explicit DeviceWindows(const std::vector<DeviceConfig>& devices);

  void Add(const HoldSample& hold);  // Counts in the window in which it ended.
  void Close(Duration length);       // The window is over.
  // As the last window was.
  const std::vector<DeviceView>& Views() const { return views_; }

 private:
  std::vector<DeviceView> views_;
  std::vector<Duration> held_;  // In the open window.
};

}  // namespace cosched
