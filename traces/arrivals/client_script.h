#pragma once
// A client of a closed loop: it sends its next request a while after its last one was answered, so
// a slow service is asked less often. What it asks, and how long it thinks before, is drawn ahead,
// so that it is the same whoever answers. Plain data; made with an experiment's plan, followed by
// the harness.

#include <vector>

#include "traces/arrivals/request_arrival.h"

namespace cosched {

struct ClientScript {
  // RequestArrival::time: after the answer to the one before it; of the first, since the start of
  // the trace.
  std::vector<RequestArrival> requests;
};

}  // namespace cosched
