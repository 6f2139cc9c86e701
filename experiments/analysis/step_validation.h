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

#include <string>
#include <vector>

#include "experiments/analysis/validation.h"

namespace cosched {

// "" where neither side has recorded steps. Throws InputError as CsvReader does.
std::string StepValidationTable(const std::vector<ValidationRuns>& runs);

}  // namespace cosched
