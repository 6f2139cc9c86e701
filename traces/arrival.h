#pragma once
// One arrival of a trace: when, which workload, and what this job asks for where it differs from
// the workload's own. Plain data; made by readers and generators, turned into jobs by the harness.

#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"

namespace cosched {

struct Arrival {
  Duration time{0};      // Since the start of the trace; traces are in order of time.
  std::string workload;  // A [[workload]] name of the experiment file.
  std::optional<int> cores_min;
  std::optional<int> cores_preferred;
  std::optional<int> cores_max;
  std::optional<int> priority;
  std::optional<int> steps;
};

using Trace = std::vector<Arrival>;

}  // namespace cosched
