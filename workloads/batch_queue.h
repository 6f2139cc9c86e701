#pragma once
// Requests that wait for a service, and when some of them make a batch: as soon as a full one
// waits, or the oldest has waited for the delay (delayed batching as in Clipper, Crankshaw et al.,
// NSDI 2017; TensorFlow Serving's max_batch_size and batch_timeout_micros). Pure bookkeeping, for
// the inference service. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace cosched {

struct ServiceQuery {
  using TimePoint = std::chrono::steady_clock::time_point;
  uint64_t number = 0;  // The query's image is this one of the data set, read in a circle.
  int runs = 1;         // Runs of the network, one after the other.
  TimePoint received;
};

class BatchQueue {
 public:
  using TimePoint = ServiceQuery::TimePoint;

  BatchQueue(int max_batch, std::chrono::nanoseconds max_delay)
      : max_batch_(static_cast<size_t>(max_batch)), max_delay_(max_delay) {}

  void Add(const ServiceQuery& query) { waiting_.push_back(query); }
  void Drain() { draining_ = true; }  // No more will come, so none waits for more.

  size_t Size() const { return waiting_.size(); }
  bool Due(TimePoint now) const;             // There is a batch to be had.
  std::optional<TimePoint> NextDue() const;  // When there will be if none comes; in the past if
                                             // there is. Absent when empty.
  bool Over() const { return draining_ && waiting_.empty(); }
  // The oldest, as many as fit. REQUIRES: not empty.
  std::vector<ServiceQuery> Take();

 private:
  const size_t max_batch_;
  const std::chrono::nanoseconds max_delay_;
  std::deque<ServiceQuery> waiting_;
  bool draining_ = false;
};

}  // namespace cosched
