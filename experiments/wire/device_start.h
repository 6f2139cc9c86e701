#pragma once
// What a host tells the process of a modelled device when it starts it, as TenantStart tells a
// tenant: one argument of the command line (`cosched tenant --device`): the host writes it, the
// device's process reads it. Pure; thread-safe.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/wire/device_spec.h"
#include "workloads/device_profile.h"
#include "workloads/program_spec.h"

namespace cosched {

struct DeviceStart {
  DeviceId device;
  int slots = 1;
  uint64_t seed = 0;
  int host_threads = 1;   // That do the work of requests on the host: one a core.
  DeviceProfile profile;  // Of the models that it serves, and only what its process needs.
  // By ServiceId: of each only the model, the data set with its seed, and the batch.
  std::vector<std::optional<ProgramSpec>> services;
};

// REQUIRES: the profile has the models of the services.
DeviceStart StartOf(const DeviceSpec& device, int host_threads);

// One line of JSON.
std::string Encode(const DeviceStart& start);
// Throws InputError about --device for anything but what Encode gives.
DeviceStart ParseDeviceStart(const std::string& text);

}  // namespace cosched
