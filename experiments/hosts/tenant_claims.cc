#include "experiments/hosts/tenant_claims.h"

#include <algorithm>

namespace cosched {
namespace {

// Resizes are reported one by one, so a person's script may cause hundreds a second.
constexpr double kMessagesAtOnce = 2000;
constexpr double kMessagesPerSecond = 1000;
constexpr int kMostThreads = 1 << 20;
constexpr int64_t kMostUnknownSteps = int64_t{1} << 40;
constexpr int64_t kMostImagesOfAStep = int64_t{1} << 20;

}  // namespace

// What a program of somebody else's does may be known to nobody.
int64_t TenantClaims::MostSteps() const {
  const bool unknown = spec_.IsCommand() && spec_.steps == 0;
  return unknown ? kMostUnknownSteps : spec_.steps;
}

int64_t TenantClaims::MostImages() const {
  const int64_t batch = spec_.IsCommand() ? kMostImagesOfAStep : spec_.batch;
  return steps_ * batch;
}

SharedCounters::Counters TenantClaims::Plausible(SharedCounters::Counters counters) const {
  steps_ = std::clamp(counters.steps, steps_, std::max(steps_, MostSteps()));
  images_ = std::clamp(counters.images, images_, std::max(images_, MostImages()));
  counters.steps = steps_;
  counters.images = images_;
  counters.steps_dropped = std::clamp<int64_t>(counters.steps_dropped, 0, MostSteps());
  return counters;
}

bool TenantClaims::Take(const std::vector<SharedCounters::Step>& claimed, Duration epoch,
                        TimePoint now, std::vector<StepSample>* steps) {
  for (const SharedCounters::Step& step : claimed) {
    if (step.step <= last_step_ || step.step >= MostSteps()) return false;
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
