#pragma once
// A machine under a registered policy, for tests that say which decisions it takes.

#include "policies/registry.h"
#include "tests/policies/fake_host.h"

namespace cosched {

inline std::unique_ptr<ScheduledMachine> MakeMachine(const char* topology, const char* name,
                                                     const PolicyParameters& parameters = {}) {
  const PolicyInfo* info = FindPolicy(name);
  CHECK(info != nullptr) << name;
  return std::make_unique<ScheduledMachine>(topology, MakePolicy(*info, parameters),
                                            info->oversubscribes);
}

constexpr CoreRequest Exactly(int cores) { return {cores, cores, cores}; }
constexpr CoreRequest UpTo(int preferred, int max) { return {1, preferred, max}; }

// A job of so many steps that makes k^exponent steps per second on k cores.
inline Job SizedJob(int64_t id, CoreRequest request, int64_t steps, double exponent = 1,
                    Elasticity elasticity = Elasticity::kMalleable) {
  Job job = MakeJob(id, request, elasticity);
  job.steps = steps;
  job.speed = PowerCurve(1, exponent, 64);
  return job;
}

}  // namespace cosched
