#pragma once
// What a tenant says of itself, taken with care: its counters only grow and stay within what it was
// asked to do, its steps come in order, and it says only so much a second. Used by
// SupervisedTenant, which fails a tenant whose claims can't be true. Not thread-safe.

#include <vector>

#include "engine/base/clock.h"
#include "experiments/wire/shared_counters.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

class TenantClaims {
 public:
  TenantClaims(JobId job, const TenantSpec& spec, TimePoint started)
      : job_(job), spec_(spec), last_finished_(started), started_(started) {}

  // The counters, as far as they can be believed.
  SharedCounters::Counters Plausible(SharedCounters::Counters counters) const;

  // Appends the steps. False if they can't have been done (in this order). `epoch` is the
  // MonotonicNow() of TimePoint zero.
  bool Take(const std::vector<SharedCounters::Step>& claimed, Duration epoch, TimePoint now,
            std::vector<StepSample>* steps);

  // Counts one message. False if there are more than an honest tenant ever has to say.
  bool CountMessage(TimePoint now);

 private:
  int64_t MostSteps() const;
  int64_t MostImages() const;  // Of those steps.

  const JobId job_;
  const TenantSpec spec_;
  int64_t last_step_ = -1;
  TimePoint last_finished_;
  const TimePoint started_;
  mutable int64_t steps_ = 0, images_ = 0;
  double messages_ = 0;  // Said, minus what time has forgiven.
  TimePoint last_message_;
};

}  // namespace cosched
