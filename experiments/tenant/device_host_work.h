#pragma once
// What a request to a modelled device costs the cores: its image is read and decoded as an instance
// of the service would, and that is made up to the CPU time that the device's profile says by going
// over the image again and again. Never by sleeping: others on these cores must feel it. Used by
// DeviceService. Thread-safe.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/clock.h"
#include "workloads/dataset.h"
#include "workloads/model.h"
#include "workloads/program_spec.h"

namespace cosched {

class DeviceHostWork {
 public:
  // cpu_time: of a request, at least; reading its image may take more. Throws InputError for an
  // unknown model, or a data set that does not fit it.
  DeviceHostWork(const ProgramSpec& program, Duration cpu_time);

  // The image is this one of the data set, read in a circle; it is left in `pixels`, which a thread
  // keeps for its next request.
  void Do(uint64_t number, std::vector<float>* pixels) const;

 private:
  const std::shared_ptr<const ModelInfo> model_;
  const std::unique_ptr<Dataset> dataset_;
  const Duration cpu_time_;
};

}  // namespace cosched
