#pragma once
// The requests of one service that no server has yet, first come first served, and what a Dispatch
// is told of them (policies/dispatch/dispatch.h): every figure costs the same however many wait.
// Used by the dispatcher, one thread.

#include <cstdint>
#include <deque>
#include <optional>

#include "policies/dispatch/dispatch.h"

namespace cosched {

class FrontQueue {
 public:
  struct Waiting {
    int64_t id = 0;
    TimePoint due, taken;
    double work = 1;
    std::optional<Duration> slo;
  };

  bool Empty() const { return waiting_.empty(); }
  const Waiting& Front() const { return waiting_.front(); }  // REQUIRES: !Empty().
  void Push(const Waiting& request);
  Waiting Pop();  // REQUIRES: !Empty().

  // Some server answered a request of the service after so long.
  void Answered(Duration response);
  // All but the objective and what is expected of a server.
  QueueView View(ServiceId service, TimePoint now) const;

 private:
  std::deque<Waiting> waiting_;
  // Of those that wait, in whole microseconds: exact, and large enough for any trace.
  int64_t due_sum_us_ = 0;
  std::deque<Duration> recent_;  // The latest responses.
  Duration recent_sum_{0};
};

}  // namespace cosched
