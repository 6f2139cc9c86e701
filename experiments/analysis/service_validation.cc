#include "experiments/analysis/service_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/request_metrics.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr const char* kServiceErrorFormat =
    "{:<16} {:<9} {:>7} {:>6} {:>9} {:>9} {:<18} {:>9} {:>9} {}\n";

// By trial.
struct Responses {
  std::vector<double> p50, p95;
};
struct Both {
  Responses measured, simulated;
  int trials = 0;
};
using RowKey = std::tuple<std::string, std::string, Elasticity>;  // Service, policy, elasticity.

const ServiceSummary* Find(const std::vector<ServiceSummary>& services, const std::string& name) {
  const auto found = std::ranges::find(services, name, &ServiceSummary::service);
  return found == services.end() || !found->p50_latency_ms ? nullptr : &*found;
}

void AddResponses(const ServiceSummary& service, Responses* responses) {
  responses->p50.push_back(*service.p50_latency_ms);
  responses->p95.push_back(*service.p95_latency_ms);
}

// The median ratio of the trials.
Estimate Ratio(const std::vector<double>& simulated, const std::vector<double>& measured) {
  std::vector<double> ratios;
  for (size_t trial = 0; trial < measured.size(); ++trial)
    ratios.push_back(measured[trial] > 0 ? simulated[trial] / measured[trial] : 1);
  return MedianEstimate(ratios);
}

// Only what both worlds answered.
std::map<RowKey, Both> ReadServices(const std::vector<ValidationRuns>& runs) {
  std::map<RowKey, Both> rows;
  for (const ValidationRuns& run : runs) {
    for (const CellKey& key : WholeCells(run.measured)) {
      const auto measured = SummarizeRequests(CellFolder(run.measured, key));
      const auto simulated = SummarizeRequests(CellFolder(run.simulated, key));
      for (const ServiceSummary& service : measured) {
        const ServiceSummary* const ours = Find(measured, service.service);
        const ServiceSummary* const theirs = Find(simulated, service.service);
        if (ours == nullptr || theirs == nullptr) continue;
        Both& both = rows[{service.service, key.policy, key.elasticity}];
        AddResponses(*ours, &both.measured);
        AddResponses(*theirs, &both.simulated);
        ++both.trials;
      }
    }
  }
  return rows;
}

}  // namespace

std::string ServiceValidationTable(const std::vector<ValidationRuns>& runs) {
  std::string text;
  std::string last;
  for (const auto& [key, both] : ReadServices(runs)) {
    const auto& [service, policy, elasticity] = key;
    if (service != last) {
      text += fmt::format("\nservice {}: response in ms from when a request was due\n", service);
      text += fmt::format(fmt::runtime(kServiceErrorFormat), "policy", "class", "trials", "level",
                          "p50 meas.", "simul.", "ratio", "p95 meas.", "simul.", "ratio");
      last = service;
    }
    text +=
        fmt::format(fmt::runtime(kServiceErrorFormat), policy, ToString(elasticity), both.trials,
                    LevelText(both.trials), RoundedText(Median(both.measured.p50)),
                    RoundedText(Median(both.simulated.p50)),
                    NumberText(Ratio(both.simulated.p50, both.measured.p50)),
                    RoundedText(Median(both.measured.p95)), RoundedText(Median(both.simulated.p95)),
                    NumberText(Ratio(both.simulated.p95, both.measured.p95)));
  }
  return text;
}

}  // namespace cosched
