#pragma once
// What this machine offers to experiments, and what follows from what it lacks. Reads files of the
// kernel's, tries what it says it can, and leaves nothing behind. Called by `cosched doctor`, on
// one thread.

#include <vector>

#include "experiments/cli/finding.h"

namespace cosched {

std::vector<Finding> FindingsOfMachine();

// Whether experiments can run at all on a machine of which this was found.
bool CanRun(const std::vector<Finding>& findings);

}  // namespace cosched
