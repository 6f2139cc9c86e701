#include "experiments/hosts/tenant_claims.h"

#include <algorithm>

namespace cosched {
namespace {

// Resizes are reported one by one, so a person's script may cause hundreds a second.
constexpr double kMessagesAtOnce = 2000;
constexpr double kMessagesPerSecond = 1000;
constexpr int kMostThreads = 1 << 20;

}  // namespace

SharedCounters::Counters TenantClaims::Plausible(SharedCounters::Counters counters) const {
  steps_ = std::clamp(counters.steps, steps_, std::max(steps_, spec_.steps));
  images_ = std::clamp(counters.images, images_, std::max(images_, steps_ * spec_.batch));
  counters.steps = steps_;
  counters.images = images_;
  counters.steps_dropped = std::clamp<int64_t>(counters.steps_dropped, 0, spec_.steps);
  return counters;
}

bool TenantClaims::Take(const std::vector<SharedCounters::Step>& claimed, Duration epoch,
                        TimePoint now, std::vector<StepSample>* steps) {
  for (const SharedCounters::Step& step : claimed) {
    if (step.step <= last_step_ || step.step >= spec_.steps) return false;
    last_step_ = step.step;
    // A copy of a clock that it could have set to anything; a sum here must not overflow.
    const Duration finished = std::clamp(step.finished, epoch, epoch + now.time_since_epoch());
    last_finished_ = std::clamp(TimePoint(finished - epoch), last_finished_, now);
    steps->push_back({.job = job_,
                      .step = step.step,
                      .finished = last_finished_,
                      .duration = std::clamp(step.duration, Duration(0), now - started_),
                      .threads = std::clamp(step.threads, 0, kMostThreads),
                      .loss = step.loss});
  }
  return true;
}

bool TenantClaims::CountMessage(TimePoint now) {
  const double forgiven = ToSeconds(now - last_message_) * kMessagesPerSecond;
  last_message_ = now;
  messages_ = std::max(0.0, messages_ - forgiven) + 1;
  return messages_ <= kMessagesAtOnce;
}

}  // namespace cosched
