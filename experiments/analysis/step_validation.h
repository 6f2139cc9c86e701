#pragma once
// Where the simulator's errors come from: what jobs' starts, first steps, later steps and stops
// took in the cells of a run on hardware, beside those of the same cells simulated, told apart by
// the number of cores and by whether others were on them. Reads files only; called by `cosched
// validate` besides experiments/analysis/validation.h.
//
// A step counts if nobody's cores were changed while it ran; the time between two steps is part of
// the second. The means of a kind are over all cells of a run, whatever the policy, because the sum
// is what a makespan is made of. The range over cells is of measured steps against all simulated
// ones of the kind: how the machine's own speed changed during the run, which no model of a program
// can follow.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/analysis/validation_runs.h"

namespace cosched {

// Of one kind, over all cells. Times in seconds.
struct StepTimes {
  std::string what;  // "steps", "first steps", "starts" or "stops".
  std::string workload;
  int cores = 0;
  bool shared = false;                 // Others were on the cores.
  double measured = 0, simulated = 0;  // Means.
  // Of the cells' own measured means, the lowest and the highest tenth; absent for one cell.
  std::optional<std::pair<double, double>> cells;
};

// Those kinds that both worlds have enough samples of. Throws InputError as CsvReader does.
std::vector<StepTimes> CompareSteps(const std::vector<ValidationRuns>& runs);

// "" where there are none.
std::string StepTimesTable(const std::vector<StepTimes>& kinds);

}  // namespace cosched
