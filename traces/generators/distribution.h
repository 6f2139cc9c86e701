#pragma once
// The distributions that generators draw gaps, think times, durations and sizes from. Plain data
// and its sampler. Every draw has the same bits on every platform (variates.h). Thread-safe, as the
// Random is the caller's.

#include <string>
#include <string_view>

#include "engine/base/random.h"

namespace cosched {

struct Distribution {
  enum class Kind {
    kFixed,        // Always the mean.
    kNormal,       // Truncated at 0 by drawing again, so its true mean is above `mean` where sd is
                   // large.
    kExponential,  // As gaps: a Poisson process.
    kGamma,        // Shape 1 / cv^2.
    kWeibull,      // Shape k; 1 is exponential, below 1 has a heavier tail.
    kPareto,       // Type I: x >= its scale, P(X > x) = (scale / x)^shape; shape > 1, and the
                   // deviation is infinite up to 2.
  };
  Kind kind = Kind::kExponential;
  double mean = 1;
  double sd = 0;     // Used by kNormal only.
  double cv = 1;     // Coefficient of variation; of kGamma only.
  double shape = 1;  // Used by kWeibull and kPareto only.
};
std::string_view ToString(Distribution::Kind kind);  // "fixed", "normal", "exponential", …
bool ParseDistribution(std::string_view text, Distribution::Kind* result);
std::string DistributionNames();  // For messages.

// REQUIRES: mean, sd >= 0; cv, a Weibull's shape > 0; a Pareto's shape > 1.
class Sampler {
 public:
  explicit Sampler(const Distribution& distribution);
  double Draw(Random& random) const;  // >= 0

 private:
  Distribution distribution_;
  double shape_ = 1;  // What the algorithms take: a gamma's shape, the others' 1 / shape.
  double scale_ = 1;
};

}  // namespace cosched
