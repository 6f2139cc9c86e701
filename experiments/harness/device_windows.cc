#include "experiments/harness/device_windows.h"

#include <algorithm>
#include <utility>

namespace cosched {

DeviceWindows::DeviceWindows(const std::vector<DeviceConfig>& devices) : held_(devices.size()) {
  for (const DeviceConfig& device : devices) {
    const auto id = static_cast<int64_t>(views_.size());
    views_.push_back(
        {.id = {id}, .name = device.name, .node = device.node, .slots = device.slots, .busy = 0});
  }
}

void DeviceWindows::Add(const HoldSample& hold) {
  held_[static_cast<size_t>(hold.device.value)] += hold.planned_end - hold.begin;
}

void DeviceWindows::Close(Duration length) {
  for (size_t i = 0; i < views_.size(); ++i) {
    const double held_s = ToSeconds(std::exchange(held_[i], Duration(0)));
    // A hold that began before the window counts whole.
    views_[i].busy = std::min(1.0, held_s / (ToSeconds(length) * views_[i].slots));
  }
}

}  // namespace cosched
