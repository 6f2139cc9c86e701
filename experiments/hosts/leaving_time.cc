#include "experiments/hosts/leaving_time.h"

#include <algorithm>

namespace cosched {

void LeavingTime::Begin(TimePoint now, Duration used,
                        const std::vector<ProcessSampler::Thread>& threads) {
  begin_ = reason_ = now;
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
                       const std::vector<ProcessSampler::Thread>& threads) {
  if (now < begin_ + deadline_) return false;
  if (now >= begin_ + most_) return true;
  const bool starves = used - used_ < deadline_;
  const auto has_reason = [&](const ProcessSampler::Thread& thread) {
    const bool waits = thread.state == 'R' || thread.state == 'D';
    return (starves && waits) || IsInOldTask(thread);
  };
  if (std::any_of(threads.begin(), threads.end(), has_reason)) reason_ = now;
  return now >= reason_ + deadline_;
}

}  // namespace cosched
