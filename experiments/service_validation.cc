#include "experiments/service_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "experiments/metrics.h"
#include "experiments/request_metrics.h"
#include "experiments/table_text.h"

namespace cosched {
namespace {

constexpr const char* kFormat = "{:<16} {:<9} {:>7} {:>9} {:>9} {:>6} {:>9} {:>9} {:>6}\n";

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

void Add(const ServiceSummary& service, Responses* responses) {
  responses->p50.push_back(*service.p50_latency_ms);
  responses->p95.push_back(*service.p95_latency_ms);
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Only what both worlds answered.
std::map<RowKey, Both> Read(const std::vector<ValidationRuns>& runs) {
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
        Add(*ours, &both.measured);
        Add(*theirs, &both.simulated);
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
  for (const auto& [key, both] : Read(runs)) {
    const auto& [service, policy, elasticity] = key;
    if (service != last) {
      text += fmt::format("\nservice {}: response in ms from when a request was due\n", service);
      text += fmt::format(fmt::runtime(kFormat), "policy", "class", "trials", "p50 meas.", "simul.",
                          "ratio", "p95 meas.", "simul.", "ratio");
      last = service;
    }
    const double p50 = Median(both.measured.p50), p95 = Median(both.measured.p95);
    const double p50_simulated = Median(both.simulated.p50),
                 p95_simulated = Median(both.simulated.p95);
    text += fmt::format(fmt::runtime(kFormat), policy, ToString(elasticity), both.trials,
                        Number(p50), Number(p50_simulated), Number(p50_simulated / p50),
                        Number(p95), Number(p95_simulated), Number(p95_simulated / p95));
  }
  return text;
}

}  // namespace cosched
