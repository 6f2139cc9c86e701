#pragma once
// Which parts of the simulator's model are on: [simulation] of an experiment file. Plain data; in
// the manifest, so that a reader knows what the figures hold.

#include <optional>
#include <string>

#include "engine/base/clock.h"
#include "experiments/hosts/simulation/cluster_settings.h"

namespace cosched {

struct SimulationSettings {
  bool contention = true;        // simulation/contention.h
  bool oversubscription = true;  // simulation/speed_model.h: penalty of threads > cores, crowding
  bool startup = true;           // start_s, warm_up and stop_s of the profile
  bool resize_delay = true;      // simulation/delays.h
  bool numa = true;              // simulation/memory_place.h
  // What a decision's own time costs: drawn from the profile, nothing, or so much.
  enum class Charge { kMeasured, kNone, kFixed };
  Charge charge = Charge::kMeasured;
  Duration fixed_charge{0};
  // Noise of a job's step time, log-normal with median 1: the standard deviation of its logarithm.
  double noise = 0;
  // Machines that the only workload, a pipeline, has for itself (simulation/cluster_pipeline.h).
  std::optional<ClusterSettings> cluster = {};
};

}  // namespace cosched
