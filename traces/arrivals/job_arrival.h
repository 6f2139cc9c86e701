#pragma once
// A job of an experiment's trace: when it arrives, which workload it runs, and what it asks for
// where it differs from the workload's own. Plain data; made by generators and from the arrivals of
// a file (trace_mapping.h), turned into jobs by the harness.

#include <optional>
#include <string>

#include "engine/base/clock.h"
#include "engine/base/split.h"

namespace cosched {

struct JobArrival {
  Duration time{0};      // Since the start of the trace; traces are in order of time.
  std::string workload;  // A [[workload]] name of the experiment file.
  std::optional<int> cores_min;
  std::optional<int> cores_preferred;
  std::optional<int> cores_max;
  std::optional<int> priority;
  std::optional<int> steps;
  std::optional<Elasticity> elasticity;  // At most this elastic, whatever its cell.
  friend bool operator==(const JobArrival&, const JobArrival&) = default;
};

}  // namespace cosched
