#pragma once
// What co-running programs do to each other, from measured slow-downs: each program's pressure (how
// much it slows others) and sensitivity (how much it is slowed), by least squares. Called by
// `cosched calibrate`. Pure.
//   slow-down of i = 1 + sensitivity_i * sum over its co-runners j of pressure_j * rate_j,
// rate_j = j's speed alone on its cores over its speed on 1 core: cores that wait press nobody.
// In the spirit of Bubble-Up (Mars et al., MICRO 2011), with a line in place of its curves.

#include <vector>

namespace cosched {

struct SlowDown {
  struct CoRunner {
    int program = 0;  // Index.
    double rate = 1;
  };
  int program = 0;  // Whose.
  std::vector<CoRunner> beside;
  double slow_down = 1;
};

struct ContentionFit {
  // By program. Both are 0 for a program that was in no observation. Only products of a sensitivity
  // and a pressure mean something; the largest pressure is made 1.
  std::vector<double> pressure;
  std::vector<double> sensitivity;
};

// Neither is ever negative: a program that ran faster beside others counts as not slowed.
ContentionFit FitContention(int programs, const std::vector<SlowDown>& observed);

double PredictSlowDown(const ContentionFit& fit, int program,
                       const std::vector<SlowDown::CoRunner>& beside);

}  // namespace cosched
