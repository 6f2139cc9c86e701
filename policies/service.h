#pragma once
// What a service is asked, and what a policy is told of it. A service is a model that answers
// requests. Its requests wait in one queue, and servers take them from there: instances, which are
// jobs that answer until they are drained, and devices, which are part of the machine. Plain data.

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/clock.h"
#include "policies/job.h"

namespace cosched {

struct ServiceId {
  int64_t value = -1;
  friend auto operator<=>(const ServiceId&, const ServiceId&) = default;
};

struct DeviceId {
  int64_t value = -1;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

using ServerId = std::variant<JobId, DeviceId>;

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

// What one server did for one service in the window that is over.
struct ServerWindow {
  int64_t dispatched = 0;  // Handed to it.
  int64_t answered = 0;
  int64_t in_flight = 0;      // At the window's end: waiting there or computed.
  Duration mean_response{0};  // From schedule to answer; 0 if it answered none.
  Duration mean_process{0};   // From dispatch to answer.
};

// A service as a policy sees it, in the window that is over.
struct ServiceView {
  ServiceId id;
  std::string name;
  // Of the mean response of a window's requests; 0 = none. It may change while the service runs.
  Duration objective{0};
  Duration length{0};         // Of the window.
  Duration mean_response{0};  // Of the requests that were answered in it; 0 if none was.
  int64_t arrived = 0;
  int64_t answered = 0;
  int64_t queued = 0;  // In its queue at the window's end, with no server yet.
  std::vector<std::pair<ServerId, ServerWindow>> servers;  // In order of the ids.
};

struct DeviceView {
  DeviceId id;
  std::string name;
  int node = -1;    // Index into MachineView::nodes; -1 = of none of them.
  int slots = 1;    // Requests that it works on at once.
  double busy = 0;  // Share of the slots' time in the window that is over.
};

}  // namespace cosched
