#pragma once
// What a call of one stage of a pipeline costs and makes, as the simulator needs it
// (experiments/hosts/simulation/pipeline_calls.h). Plain data.

#include <cstdint>

#include "workloads/scaling_law.h"

namespace cosched {

struct StageCost {
  // Seconds that a call takes on one core by itself; of a stage that waits, that it waits.
  double per_call_s = 0, per_item_s = 0;
  // Bytes that it reads from or writes to the store for each item, after that, where machines have
  // one store (experiments/hosts/simulation/pipeline_cluster.h).
  double store_bytes_per_item = 0;
  // How much faster a call is with more threads in it; with this one helpers do nothing for it.
  ScalingLaw law = {.parameters = {1.0}};
  // What each call's time is multiplied by: log-normal with median 1 and this standard deviation of
  // its logarithm, or exponential with mean 1 and `noise` of no meaning.
  enum class Distribution { kLogNormal, kExponential };
  Distribution distribution = Distribution::kLogNormal;
  double noise = 0;
  // Items that a call makes, in equal distances until its end: so many and, for each that it took,
  // so many more; a fraction is a chance of one more. Of stages that emit many: others make one.
  double emits_per_call = 0, emits_per_item = 1;
  // Bytes of what a call makes: so many an item, and this part of what the call took, divided among
  // all that it makes.
  int64_t item_bytes = 0;
  double kept_bytes = 1;
  // A call of a cancelled request ends where one of its pieces does, but where its next item is
  // made at the latest. 0: only there.
  double piece_s = 0;
};

}  // namespace cosched
