#include "experiments/hosts/leaving_time.h"

#include <algorithm>

namespace cosched {

void LeavingTime::Begin(TimePoint now, Duration used,
                        const std::vector<ProcessSampler::Thread>& threads) {
  begin_ = now;
  used_ = used;
  tasks_.clear();
  for (const ProcessSampler::Thread& thread : threads) {
    if (const auto task = threads_.TaskOf(thread)) tasks_.emplace(thread.tid, *task);
  }
}

bool LeavingTime::IsInOldTask(const ProcessSampler::Thread& thread) const {
  const auto told = tasks_.find(thread.tid);
  return thread.state == 'R' && told != tasks_.end() && threads_.TaskOf(thread) == told->second;
}

bool LeavingTime::IsUp(TimePoint now, Duration used,
                       const std::vector<ProcessSampler::Thread>& threads) const {
  if (now < begin_ + deadline_) return false;
  if (now >= begin_ + most_) return true;
  const bool starves = used - used_ < deadline_;
  return std::none_of(threads.begin(), threads.end(), [&](const ProcessSampler::Thread& thread) {
    const bool waits = thread.state == 'R' || thread.state == 'D';
    return (starves && waits) || IsInOldTask(thread);
  });
}

}  // namespace cosched
