#include "workloads/fit_contention.h"

#include <algorithm>

namespace cosched {
namespace {

constexpr int kRounds = 200;  // Far more than it takes: each round is exact in one of the factors.

double Press(const ContentionFit& fit, const std::vector<SlowDown::CoRunner>& beside) {
  double press = 0;
  for (const SlowDown::CoRunner& other : beside) press += fit.pressure[other.program] * other.rate;
  return press;
}

// The best sensitivities for these pressures: one line through (0, 1) each.
void FitSensitivity(const std::vector<SlowDown>& observed, ContentionFit* fit) {
  std::vector<double> xy(fit->sensitivity.size()), xx(fit->sensitivity.size());
  for (const SlowDown& one : observed) {
    const double press = Press(*fit, one.beside);
    xy[one.program] += press * (one.slow_down - 1);
    xx[one.program] += press * press;
  }
  for (size_t i = 0; i < xx.size(); ++i)
    fit->sensitivity[i] = xx[i] > 0 ? std::max(0.0, xy[i] / xx[i]) : 0;
}

// The best pressure of one program after the other, the rest held.
void FitPressure(const std::vector<SlowDown>& observed, ContentionFit* fit) {
  for (size_t program = 0; program < fit->pressure.size(); ++program) {
    double xy = 0, xx = 0;
    for (const SlowDown& one : observed) {
      double own = 0;
      for (const SlowDown::CoRunner& other : one.beside)
        own += other.program == static_cast<int>(program) ? other.rate : 0;
      if (own == 0) continue;
      const double sensitivity = fit->sensitivity[one.program];
      const double x = sensitivity * own;
      const double rest = sensitivity * (Press(*fit, one.beside) - fit->pressure[program] * own);
      xy += x * (one.slow_down - 1 - rest);
      xx += x * x;
    }
    fit->pressure[program] = xx > 0 ? std::max(0.0, xy / xx) : 0;
  }
}

void MakeLargestPressureOne(ContentionFit* fit) {
  const double largest = *std::max_element(fit->pressure.begin(), fit->pressure.end());
  if (largest <= 0) return;
  for (double& pressure : fit->pressure) pressure /= largest;
  for (double& sensitivity : fit->sensitivity) sensitivity *= largest;
}

}  // namespace

ContentionFit FitContention(int programs, const std::vector<SlowDown>& observed) {
  const auto count = static_cast<size_t>(programs);
  ContentionFit fit{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
  if (count == 0) return fit;
  for (int round = 0; round < kRounds; ++round) {
    FitSensitivity(observed, &fit);
    FitPressure(observed, &fit);
    MakeLargestPressureOne(&fit);
  }
  FitSensitivity(observed, &fit);
  return fit;
}

double PredictSlowDown(const ContentionFit& fit, int program,
                       const std::vector<SlowDown::CoRunner>& beside) {
  return 1 + fit.sensitivity[program] * Press(fit, beside);
}

}  // namespace cosched
