#pragma once
// A modelled accelerator: how long one of its slots is held by a batch of each model, and what a
// request costs the host beside that. Read from a JSON file whose figures somebody measured or
// published; nothing here is measured by cosched, so every table and plot that rests on a profile
// says "modelled device" and gives its provenance. A value.

#include <filesystem>
#include <map>
#include <string>

#include "workloads/profile.h"

namespace cosched {

struct DeviceProfile {
  std::string name;
  std::string provenance;  // "modelled: <source>"
  struct Model {
    // Time that a slot is held, by the batch: distributions as in Profile, in seconds. A batch in
    // between is held as long as the next larger one; a larger one is not formed.
    std::map<int, DelayQuantiles> occupancy_s;
    double host_cpu_s = 0;   // CPU work of a request on the host: decode, copy, answer.
    double host_wait_s = 0;  // Latency of a request that holds neither core nor slot.
    int64_t memory_mib = 0;
  };
  std::map<std::string, Model> models;  // By model; the device does not serve others.
  double switch_s = 0;                  // When a slot changes the model, on top of its holding.
  int64_t memory_mib = 0;               // Of the device; all models that it serves are resident.

  const Model* Find(const std::string& model) const;  // nullptr if it does not serve it.
};

// Mean of a distribution given by its quantiles, in seconds.
double MeanOf(const DelayQuantiles& quantiles);

// Throws InputError: not there, not JSON, a key missing, unknown, of the wrong type or out of range,
// provenance that does not begin with "modelled: ".
DeviceProfile LoadDeviceProfile(const std::filesystem::path& file);

}  // namespace cosched
