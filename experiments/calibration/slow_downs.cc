#include "experiments/calibration/slow_downs.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "engine/base/check.h"
#include "experiments/analysis/estimate.h"

namespace cosched {
namespace {

double AloneNear(const Series& alone, double at) {
  const auto nearest = std::min_element(
      alone.runs.begin(), alone.runs.end(),
      [at](const auto& a, const auto& b) { return std::abs(a.at - at) < std::abs(b.at - at); });
  return nearest->tenants[0].step_s;
}

Estimate Ratios(const Series& series, const Series& alone,
                const std::function<double(const Measured&)>& step_s) {
  CHECK(!series.runs.empty() && !alone.runs.empty()) << "no run";
  std::vector<double> ratios;
  for (const Measured& run : series.runs) ratios.push_back(step_s(run) / AloneNear(alone, run.at));
  return MedianEstimate(ratios);
}

}  // namespace

const Series& AloneOf(const std::vector<Series>& all, const Measurement& measurement,
                      size_t tenant) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Series& series) {
    const Measurement& one = series.measurement;
    return one.kind == Measurement::Kind::kAlone &&
           one.programs[0] == measurement.programs[tenant] &&
           one.cores == measurement.CoresOf(tenant) &&
           one.threads == measurement.ThreadsOfTenant(tenant);
  });
  CHECK(found != all.end()) << "program " << measurement.programs[tenant] << " did not run alone";
  return *found;
}

Estimate PairedSlowDown(const Series& series, size_t tenant, const Series& alone) {
  return Ratios(series, alone,
                [tenant](const Measured& run) { return run.tenants[tenant].step_s; });
}

Estimate PairedSlowDownOfAll(const Series& series, const Series& alone) {
  return Ratios(series, alone, [](const Measured& run) {
    double sum = 0;
    for (const MeasuredTenant& tenant : run.tenants) sum += tenant.step_s;
    return sum / static_cast<double>(run.tenants.size());
  });
}

}  // namespace cosched
