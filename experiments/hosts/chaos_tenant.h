#pragma once
// `model = "chaos"`: a hosted tenant that computes nothing and misbehaves, in a way and at a moment
// that its seed decides, so that a host can be shown to survive it. Until that moment it follows
// its grants as a CNN program does, with threads that spin. "chaos:NAME" forces one behaviour.
// Called by RunHostedTenant; works in every backend.

#include <span>
#include <string_view>

#include "experiments/hosts/hosted_tenant.h"

namespace cosched {

struct ChaosBehaviour {
  std::string_view name;
  std::string_view summary;
};
std::span<const ChaosBehaviour> ChaosBehaviours();

// "chaos", or "chaos:" and the name of a behaviour.
bool IsChaosModel(std::string_view model);

// REQUIRES: IsChaosModel(options.spec.model). Returns the exit code, if it gets that far.
int RunChaosTenant(const HostedTenantOptions& options);

}  // namespace cosched
