#pragma once
// What an instance did in a controller's own period, for controllers that decide less often than
// windows end. A part of one instance's controller (policies/core_controller.h). One thread.

#include <optional>
#include <utility>

#include "policies/core_controller.h"

namespace cosched {

struct InstancePeriod {
  double length_s = 0;
  double dispatched = 0;
  double cpu_s = 0;      // That it used …
  double granted_s = 0;  // … of this: its cores, by time.
};

class ControlPeriod {
 public:
  explicit ControlPeriod(double length_s) : length_s_(length_s) {}

  // A window is over. If the period is over with it: what happened in that; the next one begins.
  std::optional<InstancePeriod> Add(const InstanceWindow& window) {
    constexpr double kRounding = 1e-9;
    open_.length_s += window.length_s;
    open_.dispatched += static_cast<double>(window.server.dispatched);
    open_.cpu_s += ToSeconds(window.server.cpu_time);
    open_.granted_s += window.length_s * window.job.amount.Cores();
    if (open_.length_s < length_s_ - kRounding) return std::nullopt;
    return std::exchange(open_, {});
  }

 private:
  const double length_s_;
  InstancePeriod open_;
};

}  // namespace cosched
