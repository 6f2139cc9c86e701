#pragma once
// A request of an experiment's trace: when a client sends it, to which service, and how much there
// is to do. Plain data; made by generators and from the arrivals of a file (trace_mapping.h), sent
// by the harness.

#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.h"

namespace cosched {

struct RequestArrival {
  Duration time{0};             // Since the start of the trace; traces are in order of time.
  std::string service;          // A [[workload]] name of the experiment file, with mode = "serve".
  double work = 1;              // In steps of the service's program; >= 0.
  std::optional<Duration> slo;  // In which it is to be answered; default: the service's own.
};

// A request that is sent so long after it was due says that the generator fell behind: the run is
// marked. Requests are shorter than jobs, so this is less than what a job may be late.
inline constexpr Duration kLateRequest = std::chrono::milliseconds(10);

using RequestTrace = std::vector<RequestArrival>;

}  // namespace cosched
