#pragma once
// How far the simulator can be trusted with services: their response times in the cells of a run on
// hardware beside those of the same requests simulated. Reads files only; called by `cosched
// validate` besides experiments/analysis/validation.h.

#include <string>
#include <vector>

#include "experiments/analysis/validation.h"

namespace cosched {

// A row for each service, policy and elasticity: p50 and p95 of the responses, from when a request
// was due, as medians over trials, and the median of the trials' ratios with its interval and
// level. "" where there is no service. Throws
// InputError as SummarizeRequests does.
std::string ServiceValidationTable(const std::vector<ValidationRuns>& runs);

}  // namespace cosched
