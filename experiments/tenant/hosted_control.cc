#include "experiments/tenant/hosted_control.h"

namespace cosched {

ControlThreadOptions HostedControlOptions(const HostedTenantOptions& options) {
  const TenantSpec& spec = options.spec;
  const bool malleable = options.elasticity == Elasticity::kMalleable;
  ControlThreadOptions control;
  control.program = spec.serves ? ServiceName(spec) : ProgramName(spec);
  control.steps = spec.steps;
  control.job = options.job;
  control.elasticity = options.elasticity;
  control.client = options.client;
  control.cores = options.cores;
  control.threads = options.threads;
  control.unbound = options.unbound;
  control.capacity = malleable ? Split{options.capacity, options.capacity} : options.threads;
  control.control = options.control.empty() ? DefaultControlPath() : options.control;
  return control;
}

}  // namespace cosched
