#pragma once
// How much later than planned a device answered. A process on busy cores can wake up late, and a
// modelled device that answers later than its profile says models something else: its records must
// say so. Used by SupervisedDevice. Not thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/wire/device_spec.h"

namespace cosched {

class HoldOvershoot {
 public:
  void Add(const HoldSample& hold);
  // If the overshoot that one hold in a hundred exceeds is above 1 ms, or above 5 % of the hold.
  std::optional<std::string> Mark(const std::string& device) const;

 private:
  std::vector<Duration> overshoots_;
  std::vector<double> shares_;  // Overshoot by planned length, of holds that were to last.
};

}  // namespace cosched
