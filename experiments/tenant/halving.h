#pragma once
// The published protocol of a client that is told to shrink by signals: each one, a second after
// the last, halves its threads, until it has as many as wanted; growing is one step. Pure
// bookkeeping, for the tenant's control thread. Not thread-safe.

#include <chrono>
#include <optional>

#include "engine/base/split.h"

namespace cosched {

class Halving {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPeriod{1};

  // Something else is wanted: the first step is due at once.
  void Begin(Clock::time_point now) { due_ = now; }
  // The step that is due, if any.
  std::optional<Split> Step(Split now, Split wanted, Clock::time_point time);

 private:
  Clock::time_point due_;
};

}  // namespace cosched
