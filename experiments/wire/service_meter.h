#pragma once
// Counts what a service did, for the windows that policies are told of. One for each service, in
// both worlds (tenant_requests.h, simulation/service_model.h). Not thread-safe.

#include <vector>

#include "engine/base/clock.h"
#include "policies/service.h"

namespace cosched {

class ServiceMeter {
 public:
  void Arrived() { ++arrived_; }
  void Answered(Duration response) { responses_.push_back(response); }
  // The stretch since the last call; queued: requests that have not begun by now.
  ServiceWindow Take(TimePoint now, int64_t queued);

 private:
  TimePoint begin_;
  int64_t arrived_ = 0;
  std::vector<Duration> responses_;  // Responses of the window.
};

}  // namespace cosched
