#include "experiments/analysis/predicted_steps.h"

#include "experiments/hosts/simulation/contention.h"
#include "experiments/hosts/simulation/core_sharing.h"
#include "experiments/hosts/simulation/executions.h"
#include "experiments/hosts/simulation/program_models.h"

namespace cosched {

std::vector<double> PredictSteps(const Profile& profile, const std::vector<PlacedTenant>& tenants) {
  ProgramModels programs(profile, /*oversubscription=*/true);
  Executions executions;
  Contention contention(&executions, /*enabled=*/true);
  CoreSharing sharing;
  for (size_t i = 0; i < tenants.size(); ++i) {
    const int threads = ThreadsOf(tenants[i].threads);
    const int program = programs.IndexOf(tenants[i].program);
    sharing.Place(static_cast<int>(i), tenants[i].cores, threads,
                  programs.Weight(program, threads));
  }
  std::vector<double> speeds;
  std::vector<Executions::ClockId> clocks;
  for (size_t i = 0; i < tenants.size(); ++i) {
    const int program = programs.IndexOf(tenants[i].program);
    double rate = 0;  // The rate of a tenant that never leaves.
    speeds.push_back(
        programs.StepsPerSecond(program, tenants[i].threads, sharing.Of(static_cast<int>(i))));
    clocks.push_back(programs.Join(program, speeds.back(), &contention, &rate));
  }
  contention.Update(0);
  std::vector<double> steps;
  for (size_t i = 0; i < tenants.size(); ++i)
    steps.push_back(1 / (speeds[i] * executions.Speed(clocks[i])));
  return steps;
}

}  // namespace cosched
