#include "experiments/analysis/service_validation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/request_metrics.h"
#include "experiments/analysis/statistics.h"

namespace cosched {
namespace {

using Trace = std::pair<int, int>;  // Run and trial.
using System = std::pair<std::string, Elasticity>;

ServiceFigures FiguresOf(const ServiceSummary& service) {
  return {*service.mean_latency_ms, *service.p50_latency_ms,  *service.p95_latency_ms,
          *service.p50_inside_ms,   service.throughput_per_s, service.ViolatedShare()};
}

const ServiceSummary* FindAnswered(const std::vector<ServiceSummary>& services,
                                   const std::string& name) {
  const auto found = std::ranges::find(services, name, &ServiceSummary::service);
  return found == services.end() || !found->mean_latency_ms ? nullptr : &*found;
}

double MeanViolated(const CellSummary& cell) {
  std::vector<double> shares;
  for (const ServiceSummary& service : cell.services) {
    if (const std::optional<double> share = service.ViolatedShare()) shares.push_back(*share);
  }
  return shares.empty() ? 0 : Mean(shares);
}

void AddCell(int run, const CellKey& key, const CellSummary& measured, const CellSummary& simulated,
             ServiceAgreement* agreement) {
  for (const ServiceSummary& service : measured.services) {
    const ServiceSummary* const ours = FindAnswered(measured.services, service.service);
    const ServiceSummary* const theirs = FindAnswered(simulated.services, service.service);
    if (ours == nullptr || theirs == nullptr) continue;
    agreement->services.push_back(
        {run, key, service.service, FiguresOf(*ours), FiguresOf(*theirs)});
  }
  if (measured.services.empty() || !measured.granted_core_s || !simulated.granted_core_s) return;
  agreement->granted.push_back({run, key, *measured.granted_core_s, *simulated.granted_core_s,
                                MeanViolated(measured), MeanViolated(simulated)});
}

// Each trace gives one number: the mean of what its cells tell.
Estimate OfTraces(const std::map<Trace, std::vector<double>>& by_trace) {
  std::vector<double> means;
  for (const auto& [trace, values] : by_trace) means.push_back(Mean(values));
  return MedianEstimate(means);
}

void SumUpServices(ServiceAgreement* agreement) {
  std::map<Trace, std::vector<double>> responses, medians, throughputs, violations, granted;
  const auto add = [](double measured, double simulated, std::vector<double>* errors) {
    if (measured > 0) errors->push_back(std::abs(simulated / measured - 1));
  };
  for (const ServicePair& pair : agreement->services) {
    const Trace trace{pair.run, pair.key.trial};
    add(pair.measured.mean_ms, pair.simulated.mean_ms, &responses[trace]);
    add(pair.measured.p50_ms, pair.simulated.p50_ms, &medians[trace]);
    add(pair.measured.per_second, pair.simulated.per_second, &throughputs[trace]);
    if (pair.measured.violated && pair.simulated.violated)
      violations[trace].push_back(std::abs(*pair.simulated.violated - *pair.measured.violated));
  }
  for (const GrantedPair& pair : agreement->granted) {
    add(pair.measured, pair.simulated, &granted[{pair.run, pair.key.trial}]);
  }
  agreement->response_error = OfTraces(responses);
  agreement->median_error = OfTraces(medians);
  agreement->throughput_error = OfTraces(throughputs);
  agreement->violation_difference = OfTraces(violations);
  agreement->granted_error = OfTraces(granted);
}

// Over the traces that have all systems.
std::optional<RankingAgreement> RankSystems(const std::vector<GrantedPair>& pairs,
                                            double GrantedPair::*measured,
                                            double GrantedPair::*simulated) {
  // Nothing may be granted, and nothing violated, but a cost is above 0.
  constexpr double kAboveZero = 1;
  std::map<System, int> systems;
  for (const GrantedPair& pair : pairs) ++systems[{pair.key.policy, pair.key.elasticity}];
  std::map<Trace, std::map<System, const GrantedPair*>> traces;
  for (const GrantedPair& pair : pairs)
    traces[{pair.run, pair.key.trial}][{pair.key.policy, pair.key.elasticity}] = &pair;
  CostTable real, model;
  for (const auto& [trace, cells] : traces) {
    if (cells.size() != systems.size()) continue;
    real.emplace_back();
    model.emplace_back();
    for (const auto& [system, pair] : cells) {
      real.back().push_back(kAboveZero + pair->*measured);
      model.back().push_back(kAboveZero + pair->*simulated);
    }
  }
  if (systems.size() < 2 || real.empty()) return std::nullopt;
  return CompareRankings(real, model);
}

}  // namespace

std::optional<ServiceAgreement> ValidateServices(const std::vector<ValidationRuns>& runs) {
  ServiceAgreement agreement;
  for (size_t run = 0; run < runs.size(); ++run) {
    for (const CellKey& key : WholeCells(runs[run].measured)) {
      const std::vector<CellKey> simulated = WholeCells(runs[run].simulated);
      if (!std::ranges::binary_search(simulated, key)) continue;
      AddCell(static_cast<int>(run), key, Summarize(runs[run].measured, key),
              Summarize(runs[run].simulated, key), &agreement);
    }
  }
  if (agreement.services.empty()) return std::nullopt;
  SumUpServices(&agreement);
  const bool objectives = agreement.violation_difference.samples > 0;
  if (objectives) {
    agreement.by_violations = RankSystems(agreement.granted, &GrantedPair::measured_violated,
                                          &GrantedPair::simulated_violated);
  }
  agreement.by_granted =
      RankSystems(agreement.granted, &GrantedPair::measured, &GrantedPair::simulated);
  return agreement;
}

}  // namespace cosched
