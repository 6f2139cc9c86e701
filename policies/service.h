#pragma once
// What a service is asked, and what a policy is told of it. A service is a job that answers
// requests until it is stopped, in place of doing steps. Plain data.

#include <cstdint>

#include "engine/base/clock.h"

namespace cosched {

struct Request {
  int64_t id = 0;
  TimePoint scheduled;  // When it was to be sent, whenever it was: latencies count from then.
  double work = 1;      // In steps of the service's program.
};

// A service in a stretch of time that is over.
struct ServiceWindow {
  Duration length{0};
  int64_t arrived = 0;
  int64_t served = 0;
  int64_t queued = 0;  // At its end, not yet begun.
  // From schedule to answer, of those that were served; 0 if none was.
  Duration mean_response{0};
  Duration p95_response{0};
};

}  // namespace cosched
