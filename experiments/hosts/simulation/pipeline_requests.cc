#include "experiments/hosts/simulation/pipeline_requests.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace cosched {

void PipelineRequests::Submit(int64_t number, int64_t items, TimePoint now) {
  CHECK(items >= 0) << "a request of " << items << " items";
  waiting_.push_back({number, items, now});
}

bool PipelineRequests::Admit(PipelineState* state, TimePoint now) {
  bool any = false;
  for (; !waiting_.empty() && state->CanAdmit(); any = true) {
    const Submitted& next = waiting_.front();
    // Before that, as a request without items can end at once.
    inside_[state->NextRequest()] = {next.number, next.time, now};
    state->Admit(std::vector<Payload>(static_cast<size_t>(next.items), item_));
    waiting_.pop_front();
  }
  return any;
}

void PipelineRequests::Collect(PipelineState* state, TimePoint now) {
  for (const PipelineAnswer& answer : state->TakeAnswers()) {
    const auto request = inside_.find(answer.request);
    answers_.push_back({.number = request->second.number,
                        .status = answer.status,
                        .items = static_cast<int64_t>(answer.payloads.size()),
                        .submitted = request->second.submitted,
                        .admitted = request->second.admitted,
                        .ended = now});
    inside_.erase(request);
  }
}

std::optional<RequestId> PipelineRequests::Cancel(int64_t number, TimePoint now) {
  const auto waiting = std::ranges::find(waiting_, number, &Submitted::number);
  if (waiting != waiting_.end()) {
    answers_.push_back({.number = number,
                        .status = PipelineAnswer::Status::kCancelled,
                        .submitted = waiting->time,
                        .admitted = now,
                        .ended = now});
    waiting_.erase(waiting);
    return std::nullopt;
  }
  const auto inside = std::ranges::find_if(
      inside_, [number](const auto& request) { return request.second.number == number; });
  return inside == inside_.end() ? std::nullopt : std::optional(inside->first);
}

std::vector<PipelineRequests::Answer> PipelineRequests::Take() {
  return std::exchange(answers_, {});
}

}  // namespace cosched
