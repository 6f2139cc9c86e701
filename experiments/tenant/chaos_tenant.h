#pragma once
// `model = "chaos"`: a hosted tenant that computes nothing and misbehaves, in a way and at a moment
// that its seed decides, so that a host can be shown to survive it. Until that moment it follows
// its grants as a CNN program does, with threads that spin. "chaos:NAME" forces one behaviour.
// Called by RunHostedTenant; works in every backend.

#include "experiments/tenant/hosted_tenant.h"
#include "experiments/wire/chaos_plan.h"

namespace cosched {

// REQUIRES: IsChaosModel(options.spec.model). Returns the exit code, if it gets that far.
int RunChaosTenant(const HostedTenantOptions& options);

}  // namespace cosched
