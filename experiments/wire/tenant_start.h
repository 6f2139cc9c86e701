#pragma once
// What a host tells a tenant when it starts it: its job, the program, and where and on how many
// threads that begins. One argument of the tenant's command line (`cosched tenant --start`): the
// host writes it, the tenant reads it. Pure; thread-safe.

#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "experiments/os/actuator.h"
#include "experiments/wire/tenant_spec.h"
#include "policies/job.h"

namespace cosched {

struct TenantStart {
  JobId job;
  Elasticity elasticity = Elasticity::kMalleable;
  // Malleable: the most threads it will ever have, for which its work is divided.
  int capacity = 1;
  CpuSet cores;  // The first grant. The process already runs there.
  Split threads;
  Client client = Client::kOn;
  bool unbound = false;  // The threads run anywhere on their cores: a CPU quota limits them.
  TenantSpec spec;
};

// One line of JSON with every member.
std::string Encode(const TenantStart& start);
// Throws InputError about --start for anything but what Encode gives.
TenantStart ParseTenantStart(const std::string& text);

}  // namespace cosched
