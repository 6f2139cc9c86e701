#pragma once
// The process of a modelled device, started by a host: the other end of tenant_protocol.h, as a
// tenant that belongs to no job. Takes requests, tells of holds and answers, beats, and leaves when
// the host is gone. Called by the `tenant` command with hidden options.

#include "experiments/tenant/host_link.h"
#include "experiments/wire/device_start.h"

namespace cosched {

struct HostedDeviceOptions : DeviceStart, HostAddress {};

// Runs the device until its host is gone; returns the process's exit code.
int RunHostedDevice(const HostedDeviceOptions& options);

}  // namespace cosched
