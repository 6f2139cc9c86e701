#pragma once
// Parameters of a plug-in (policies/parameters.h) as --dry-run and the manifest tell them. Pure.

#include <span>
#include <vector>

#include "experiments/config/section.h"
#include "policies/parameters.h"

namespace cosched {

// All of them, with what is given or else the default; numbers as numbers. given: null = nothing.
std::vector<KeyValue> ParameterValues(std::span<const Parameter> known, const Parameters* given);

}  // namespace cosched
