#pragma once
// What a service is asked, and what a policy is told of it. A service answers requests until the
// trace is over, in place of doing steps; its servers, jobs that each are an instance of it, take
// theirs from one queue. Plain data.

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/clock.h"
#include "policies/job.h"

namespace cosched {

struct Request {
  int64_t id = 0;
  TimePoint scheduled;     // When it was to be sent, whenever it was: latencies count from then.
  double work = 1;         // In steps of the service's program.
  ServiceId service = {};  // Whose it is; an instance has no other, a device serves several.
};

struct DeviceId {
  int64_t value = -1;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};
// Who answers: an instance on cores, or a device beside them.
using ServerId = std::variant<JobId, DeviceId>;

// What a stage of a pipeline did in the window that is over, and has at its end.
struct StageWindow {
  int64_t ready = 0;    // Batches that lack nothing but credits, room or a lane.
  int64_t running = 0;  // Calls, and
  int64_t parked = 0;   // those that wait for room below.
  int64_t items = 0;    // At its gate.
  int64_t calls = 0;    // That ended, and
  int64_t taken = 0;    // the items that they took.
  Duration busy{0};     // In which pieces of those calls ran,
  Duration lasted{0};   // and from their begin to their end.
  bool waits = false;   // Calls compute nothing: they wait, on no core.
};

// What one server did for one service in the window that is over.
struct ServerWindow {
  int64_t dispatched = 0;
  int64_t answered = 0;
  int64_t in_flight = 0;      // At its end: waiting there, or computed.
  double mean_in_flight = 0;  // Over its time.
  Duration mean_response{0};  // Of those answered: from when they were due; 0 if none was.
  Duration mean_process{0};   // … from when they were dispatched to it.
  Duration cpu_time{0};       // That an instance used; of a device none is counted.
  std::vector<StageWindow> stages = {};  // Of a pipeline, from the ingress to the egress,
  int64_t open = 0;  // and its requests that were admitted and have no answer, at the end.
};

struct ServiceView {
  ServiceId id;
  std::string name;
  // Of a window's mean response (sla_ms); 0 = none. May change (ObjectiveChanged).
  Duration objective{0};
  // The last window that is over.
  Duration length{0};
  Duration mean_response{0};  // Of all that were answered in it; 0 if none was.
  int64_t arrived = 0;
  int64_t answered = 0;
  int64_t queued = 0;    // At its end, with no server yet.
  double mean_work = 0;  // Of the requests that arrived in it (Request::work); 0 if none did.
  std::vector<std::pair<ServerId, ServerWindow>> servers;  // Those that have not ended.
};

// A modelled accelerator beside the cores, which serves several services (workloads/device_profile.h).
struct DeviceView {
  DeviceId id;
  std::string name;
  int node = 0;     // In MachineView::nodes: where requests are decoded before they wait for it.
  int slots = 1;    // Batches that it computes at once.
  double busy = 0;  // Share of its slots' time that was held in the last window, 0..1.
};

}  // namespace cosched
