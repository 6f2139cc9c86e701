#include "workloads/batch_queue.h"

#include <algorithm>

namespace cosched {

std::optional<BatchQueue::TimePoint> BatchQueue::NextDue() const {
  if (waiting_.empty()) return std::nullopt;
  const bool at_once = draining_ || waiting_.size() >= max_batch_;
  return waiting_.front().received + (at_once ? std::chrono::nanoseconds(0) : max_delay_);
}

bool BatchQueue::Due(TimePoint now) const {
  const std::optional<TimePoint> due = NextDue();
  return due && *due <= now;
}

std::vector<ServiceQuery> BatchQueue::Take() {
  const auto count = static_cast<std::ptrdiff_t>(std::min(max_batch_, waiting_.size()));
  std::vector<ServiceQuery> batch(waiting_.begin(), waiting_.begin() + count);
  waiting_.erase(waiting_.begin(), waiting_.begin() + count);
  return batch;
}

}  // namespace cosched
