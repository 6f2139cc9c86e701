#pragma once
// How long the calls of a simulated pipeline's stages ran, and lasted: of those that have ended, as
// lanes count it (engine/gates/pipeline.cc). One thread.

#include <vector>

#include "engine/base/check.h"
#include "engine/base/clock.h"

namespace cosched {

class StageTimes {
 public:
  struct Total {
    Duration busy{0};    // While it ran.
    Duration lasted{0};  // From its begin to its end.
  };
  explicit StageTimes(size_t stages) : totals_(stages) {}

  // Calls have small numbers, which are free for others when they have ended.
  void Begin(int call, TimePoint now) {
    const auto index = static_cast<size_t>(call);
    if (index >= calls_.size()) calls_.resize(index + 1);
    calls_[index] = {.begun = now, .since = now};
  }
  void Run(int call, TimePoint now) { At(call).since = now; }
  void Stop(int call, TimePoint now) { At(call).busy += now - At(call).since; }
  void End(int call, int stage, TimePoint now) {  // REQUIRES: stopped.
    Total& total = totals_[static_cast<size_t>(stage)];
    total.busy += At(call).busy;
    total.lasted += now - At(call).begun;
  }
  const Total& Of(int stage) const { return totals_[static_cast<size_t>(stage)]; }

 private:
  struct Times {
    TimePoint begun, since;
    Duration busy{0};
  };
  Times& At(int call) { return calls_[static_cast<size_t>(call)]; }

  std::vector<Times> calls_;
  std::vector<Total> totals_;
};

}  // namespace cosched
