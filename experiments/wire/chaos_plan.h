#pragma once
// In which way a chaos tenant misbehaves, and when: its seed decides, so that the tenant
// (experiments/tenant/chaos_tenant.h) and its model in the simulator do the same. Thread-safe.

#include <array>
#include <chrono>
#include <csignal>
#include <span>
#include <string_view>

#include "engine/base/random.h"
#include "experiments/wire/tenant_spec.h"

namespace cosched {

struct ChaosBehaviour {
  std::string_view name;
  std::string_view summary;
};
std::span<const ChaosBehaviour> ChaosBehaviours();

// "chaos", or "chaos:" and the name of a behaviour.
bool IsChaosModel(std::string_view model);

// A step of it, whatever cores it has, as long as it has any.
inline constexpr Duration kChaosStep = std::chrono::milliseconds(2);
// Signals, one of which "crashes" dies of.
inline constexpr auto kChaosSignals =
    std::to_array({SIGSEGV, SIGABRT, SIGKILL, SIGTERM, SIGBUS, SIGFPE, SIGHUP});

// What its seed decides.
struct ChaosPlan {
  std::string_view behaviour;
  Duration moment{0};  // From its being ready to its misbehaving.
  Random random{0};    // For what it draws then.
};
// REQUIRES: IsChaosModel(spec.model).
ChaosPlan PlanChaos(const TenantSpec& spec);

}  // namespace cosched
