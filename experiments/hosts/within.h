#pragma once
// How a failure's reason tells the time that a tenant was given. Pure; called by what supervises
// tenants, real and simulated.

#include <chrono>
#include <string>

#include "engine/base/clock.h"

namespace cosched {

// " within 250 ms"
inline std::string Within(Duration time) {
  return " within " + std::to_string(time / std::chrono::milliseconds(1)) + " ms";
}

}  // namespace cosched
