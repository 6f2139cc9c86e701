// What hardware and simulator say of services, as text.

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/service_validation.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

constexpr const char* kServiceRowFormat =
    "{:<16} {:<9} {:>7} {:>6}  {:>9} {:>9} {:<20} {:>9} {:>9} {:<20}\n";

// By trial. Errors: simulated over measured, less 1; of shares, simulated less measured.
struct BothWorlds {
  std::vector<double> measured, simulated, errors;
  void AddCost(double real, double model) {
    measured.push_back(real);
    simulated.push_back(model);
    if (real > 0) errors.push_back(model / real - 1);
  }
  void AddShare(double real, double model) {
    measured.push_back(real);
    simulated.push_back(model);
    errors.push_back(model - real);
  }
};

using ValidatedPolicy = std::pair<std::string, Elasticity>;

std::string ErrorText(const BothWorlds& both) {
  return both.errors.empty() ? "-" : PercentText(MedianEstimate(both.errors), true);
}

std::string MedianOf(const std::vector<double>& values, double scale) {
  return values.empty() ? "-" : RoundedText(scale * Median(values));
}

std::string ServiceRows(const std::vector<ServicePair>& pairs, const std::string& service) {
  struct Row {
    BothWorlds response, violated;
  };
  std::map<ValidatedPolicy, Row> rows;
  for (const ServicePair& pair : pairs) {
    if (pair.service != service) continue;
    Row& row = rows[{pair.key.policy, pair.key.elasticity}];
    row.response.AddCost(pair.measured.mean_ms, pair.simulated.mean_ms);
    if (pair.measured.violated && pair.simulated.violated)
      row.violated.AddShare(*pair.measured.violated, *pair.simulated.violated);
  }
  std::string text =
      fmt::format(
          "\nservice {}: mean response from when a request was due, and windows above its "
          "objective\n",
          service) +
      fmt::format(fmt::runtime(kServiceRowFormat), "policy", "class", "trials", "level", "ms meas.",
                  "simul.", "error in %", "% meas.", "simul.", "points");
  for (const auto& [policy, row] : rows) {
    const auto trials = static_cast<int>(row.response.measured.size());
    text += fmt::format(fmt::runtime(kServiceRowFormat), policy.first, ToString(policy.second),
                        trials, LevelText(trials), MedianOf(row.response.measured, 1),
                        MedianOf(row.response.simulated, 1), ErrorText(row.response),
                        MedianOf(row.violated.measured, 100), MedianOf(row.violated.simulated, 100),
                        ErrorText(row.violated));
  }
  return text;
}

std::string GrantedRows(const std::vector<GrantedPair>& pairs) {
  std::map<ValidatedPolicy, BothWorlds> rows;
  for (const GrantedPair& pair : pairs)
    rows[{pair.key.policy, pair.key.elasticity}].AddCost(pair.measured, pair.simulated);
  if (rows.empty()) return "";
  constexpr const char* kFormat = "{:<16} {:<9} {:>7} {:>6}  {:>9} {:>9} {:<20}\n";
  std::string text = "\ngranted in a cell, in core-seconds\n" +
                     fmt::format(fmt::runtime(kFormat), "policy", "class", "trials", "level",
                                 "meas.", "simul.", "error in %");
  for (const auto& [policy, both] : rows) {
    const auto trials = static_cast<int>(both.measured.size());
    text += fmt::format(fmt::runtime(kFormat), policy.first, ToString(policy.second), trials,
                        LevelText(trials), MedianOf(both.measured, 1), MedianOf(both.simulated, 1),
                        ErrorText(both));
  }
  return text;
}

std::string OrderText(const char* what, const std::optional<RankingAgreement>& ranking) {
  if (!ranking) return "";
  std::string text =
      fmt::format("  by {}: Kendall's tau of the means {:.2f}", what, ranking->tau_of_means);
  if (!Decides(ranking->tau)) {
    return text +
           fmt::format("; the hardware can tell no two policies apart: that takes {} traces\n",
                       kTrialsThatDecide);
  }
  return text + fmt::format(
                    "; the hardware tells {} of {} pairs of policies apart, and the "
                    "simulator orders {} of these alike\n",
                    ranking->told_apart, ranking->pairs, ranking->ordered_alike);
}

}  // namespace

std::string ServiceValidationTable(const ServiceAgreement& agreement) {
  std::string text;
  std::map<std::string, int> services;
  for (const ServicePair& pair : agreement.services) ++services[pair.service];
  for (const auto& [service, pairs] : services) text += ServiceRows(agreement.services, service);
  text += GrantedRows(agreement.granted);
  text +=
      fmt::format("\nof one trace, median over {} [interval], level {}\n",
                  agreement.response_error.samples, LevelText(agreement.response_error.samples));
  text += fmt::format("  mean absolute error of mean responses {} %\n",
                      PercentText(agreement.response_error, false));
  text += fmt::format("  mean absolute error of median responses {} %, of answers a second {} %\n",
                      PercentText(agreement.median_error, false),
                      PercentText(agreement.throughput_error, false));
  if (agreement.violation_difference.samples > 0) {
    text += fmt::format("  mean difference of windows above objectives {} points\n",
                        PercentText(agreement.violation_difference, false));
  }
  if (agreement.granted_error.samples > 0) {
    text += fmt::format("  mean absolute error of core-seconds granted {} %\n",
                        PercentText(agreement.granted_error, false));
  }
  return text + OrderText("windows above objectives", agreement.by_violations) +
         OrderText("core-seconds granted", agreement.by_granted);
}

}  // namespace cosched
