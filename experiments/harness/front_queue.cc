#include "experiments/harness/front_queue.h"

namespace cosched {
namespace {

using std::chrono::microseconds;

constexpr size_t kRecentAnswers = 50;  // As ROMA's dispatcher counts them.

int64_t InMicroseconds(TimePoint time) {
  return std::chrono::floor<microseconds>(time.time_since_epoch()).count();
}

}  // namespace

void FrontQueue::Push(const Waiting& request) {
  waiting_.push_back(request);
  due_sum_us_ += InMicroseconds(request.due);
}

FrontQueue::Waiting FrontQueue::Pop() {
  const Waiting first = waiting_.front();
  waiting_.pop_front();
  due_sum_us_ -= InMicroseconds(first.due);
  return first;
}

void FrontQueue::Answered(Duration response) {
  recent_.push_back(response);
  recent_sum_ += response;
  if (recent_.size() <= kRecentAnswers) return;
  recent_sum_ -= recent_.front();
  recent_.pop_front();
}

QueueView FrontQueue::View(ServiceId service, TimePoint now) const {
  QueueView view;
  view.service = service;
  const auto recent = static_cast<int64_t>(recent_.size());
  if (recent > 0) view.recent_response = recent_sum_ / recent;
  if (waiting_.empty()) return view;
  const Waiting& oldest = waiting_.front();
  view.length = static_cast<int64_t>(waiting_.size());
  view.oldest_wait = now - oldest.due;
  view.mean_wait = now - TimePoint(microseconds(due_sum_us_ / view.length));
  if (oldest.slo) view.oldest_deadline = oldest.due + *oldest.slo;
  return view;
}

}  // namespace cosched
