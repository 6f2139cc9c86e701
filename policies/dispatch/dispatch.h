#pragma once
// A Dispatch decides which service's queue a server with room takes its next request from. It is
// asked for each request, so it is fast and sees queues only, no cores; what decides about cores is
// a Policy (policies/policy.h). Called by the dispatcher of the harness, on one thread.
//
// To add one: write policies/dispatch/<name>.cc and name its factory in dispatches.cc.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/base/clock.h"
#include "policies/service.h"

namespace cosched {

// A service's queue, as a server that has the service sees it. Times of an empty queue are 0.
struct QueueView {
  ServiceId service;
  int64_t length = 0;
  Duration oldest_wait{0};  // Of the request at the front, since it was due.
  Duration mean_wait{0};    // Of all that wait.
  Duration objective{0};    // Of the mean response in a window (sla_ms); 0 = none.
  // Of the request at the front; TimePoint::max() without one, or without an objective.
  TimePoint oldest_deadline = TimePoint::max();
  std::optional<Duration> recent_response;  // Mean of the last 50 answers, by any server.
  // Service time of the front request (of one of a unit of work, if there is none) on this server.
  std::optional<Duration> expected;
};

class Dispatch {
 public:
  virtual ~Dispatch() = default;
  // An index into `queues`, of services that this server has. Work-conserving: only queues that are
  // not empty. Polling as published: all of them, and a pick of an empty queue costs the server's
  // class a pause. Equal calls and seeds give equal answers. REQUIRES: queues is not empty.
  virtual size_t Next(std::span<const QueueView> queues, const ServerId& server, TimePoint now) = 0;
};

}  // namespace cosched
