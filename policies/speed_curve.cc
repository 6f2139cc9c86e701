#include "policies/speed_curve.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {

SpeedCurve::SpeedCurve(std::vector<double> steps_per_second)
    : steps_per_second_(std::move(steps_per_second)) {
  CHECK(!steps_per_second_.empty()) << "a curve without a point";
  CHECK(std::ranges::all_of(steps_per_second_, [](double speed) { return speed > 0; }))
      << "a job that never ends";
}

double SpeedCurve::At(int cores) const {
  if (cores <= 0) return 0;
  return steps_per_second_[static_cast<size_t>(std::min(cores, Size())) - 1];
}

}  // namespace cosched
