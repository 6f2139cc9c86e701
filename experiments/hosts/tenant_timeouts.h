#pragma once
// How long a host waits for a tenant, or a device, before it kills it and says why. From the
// experiment's file ([machine]) to every host of real processes.

#include <chrono>

#include "engine/base/clock.h"

namespace cosched {

struct TenantTimeouts {
  Duration heartbeat = std::chrono::seconds(10);  // Of a started one.
  Duration start = std::chrono::seconds(60);      // Until it is ready.
  Duration settle = std::chrono::seconds(5);      // Until a grant is in effect.
  // Until it has left cores that it was told to leave.
  Duration revocation = std::chrono::milliseconds(250);
};

}  // namespace cosched
