#include "experiments/analysis/trials_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/trial_metric.h"

namespace cosched {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

std::vector<double> FirstTrials(TrialValues values, const TrialValues* base, int trials) {
  std::erase_if(values, [trials](const auto& value) { return value.first.second > trials; });
  if (base != nullptr) return TrialRatios(values, *base);
  std::vector<double> plain;
  for (const auto& [trial, value] : values) plain.push_back(value);
  return plain;
}

// How far the interval reaches beyond the median, as a share of that.
double Reach(const std::vector<double>& values, double level) {
  const double median = Median(values);
  const Interval interval = MedianInterval(values, level);
  if (values.empty() || interval.level < level || std::isinf(interval.high)) return kUnbounded;
  const double reach = std::max(interval.high - median, median - interval.low);
  if (reach == 0) return 0;
  return median > 0 ? reach / median : kUnbounded;
}

}  // namespace

bool LooksAtRatios(const ExperimentConfig& config) {
  const std::vector<std::string>& policies = config.policies;
  return policies.size() > 1 &&
         std::find(policies.begin(), policies.end(), config.baseline) != policies.end();
}

TrialsLook LookAtTrials(const std::filesystem::path& run, const ExperimentConfig& config,
                        int trials) {
  const TrialMetric metric = *FindTrialMetric(config.until->metric);
  const double level = LevelOfLook(TrialLooks(config.trials).size());
  const ComparedCells cells = ReadCells({ReadComparedRun(run)});
  const bool ratios = LooksAtRatios(config);
  TrialsLook look;
  double widest = -1;
  const auto add = [&](const std::string& of, double reach) {
    if (reach <= widest) return;
    widest = reach;
    look.widest = of;
  };
  for (const std::string& policy : config.policies) {
    if (ratios && policy == config.baseline) continue;
    for (const Elasticity elasticity : config.elasticities) {
      std::string name = fmt::format("{}/{}", policy, ToString(elasticity));
      if (ratios) name += " / " + config.baseline;
      const CellGroup* group = cells.Find(policy, elasticity);
      const CellGroup* base = ratios ? cells.Find(config.baseline, elasticity) : nullptr;
      const std::vector<std::string> services =
          group == nullptr ? std::vector<std::string>() : ServicesWith(*group, metric);
      if (services.empty() || (ratios && base == nullptr)) add(name, kUnbounded);
      for (const std::string& service : services) {
        TrialValues of_base;
        if (base != nullptr) of_base = ValuesByTrial(*base, metric, service);
        add(service.empty() ? name : name + " " + service,
            Reach(FirstTrials(ValuesByTrial(*group, metric, service),
                              base != nullptr ? &of_base : nullptr, trials),
                  level));
      }
    }
  }
  if (widest < kUnbounded) look.within = widest;
  look.enough = look.within && *look.within <= config.until->within;
  return look;
}

}  // namespace cosched
