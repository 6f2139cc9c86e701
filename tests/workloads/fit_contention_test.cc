#include "workloads/fit_contention.h"

#include <gtest/gtest.h>

namespace cosched {
namespace {

// All ordered pairs of programs with these pressures and sensitivities, by the formula.
std::vector<SlowDown> Pairs(const std::vector<double>& pressure,
                            const std::vector<double>& sensitivity) {
  std::vector<SlowDown> observed;
  for (int i = 0; i < static_cast<int>(pressure.size()); ++i) {
    for (int j = 0; j < static_cast<int>(pressure.size()); ++j) {
      for (double rate : {1.0, 2.5})
        observed.push_back({i, {{j, rate}}, 1 + sensitivity[i] * pressure[j] * rate});
    }
  }
  return observed;
}

TEST(FitContention, FindsWhatMadeTheSlowDowns) {
  const std::vector<double> pressure = {1, 0.25, 0.5}, sensitivity = {0.1, 0.4, 0};
  const ContentionFit fit = FitContention(3, Pairs(pressure, sensitivity));
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(fit.pressure[i], pressure[i], 1e-6) << i;
    EXPECT_NEAR(fit.sensitivity[i], sensitivity[i], 1e-6) << i;
  }
  // A triple, which it was not fitted to: the pressures add up.
  EXPECT_NEAR(PredictSlowDown(fit, 1, {{0, 1}, {2, 2}}), 1 + 0.4 * (1 + 0.5 * 2), 1e-6);
}

TEST(FitContention, OneProgramBesideItselfByHand) {
  // Through (0, 1) with x = 1, 3 and y = 0.1, 0.5: 1.6 / 10.
  const ContentionFit fit = FitContention(1, {{0, {{0, 1}}, 1.1}, {0, {{0, 3}}, 1.5}});
  EXPECT_NEAR(fit.pressure[0] * fit.sensitivity[0], 0.16, 1e-9);
  EXPECT_DOUBLE_EQ(fit.pressure[0], 1);
}

TEST(FitContention, NobodyIsEverHelpedByOthers) {
  const ContentionFit fit = FitContention(2, {{0, {{1, 1}}, 0.97}, {1, {{0, 1}}, 0.99}});
  EXPECT_EQ(fit.sensitivity, (std::vector<double>{0, 0}));
  EXPECT_EQ(PredictSlowDown(fit, 0, {{1, 4}}), 1);
}

TEST(FitContention, WithoutObservationsThereIsNone) {
  const ContentionFit fit = FitContention(2, {});
  EXPECT_EQ(PredictSlowDown(fit, 0, {{1, 1}}), 1);
}

}  // namespace
}  // namespace cosched
