#pragma once
// The arrivals of a run's trials as they stand in its manifest: those of one trial in full, of one
// longer than 10,000 their number and a hash; of the clients of closed loops just these. Pure.

#include <nlohmann/json.hpp>
#include <vector>

#include "traces/arrivals/client_script.h"
#include "traces/arrivals/request_arrival.h"
#include "traces/job_trace.h"

namespace cosched {

nlohmann::ordered_json TracesJson(const std::vector<JobTrace>& of_trials);
nlohmann::ordered_json TracesJson(const std::vector<RequestTrace>& of_trials);
nlohmann::ordered_json TracesJson(const std::vector<std::vector<ClientScript>>& of_trials);

}  // namespace cosched
