#pragma once
// How fast one job runs by itself on 1, 2, … cores, as a profile measured or extrapolated it. What
// size- and curve-aware policies decide by. Immutable; shared between jobs of one workload.

#include <vector>

namespace cosched {

class SpeedCurve {
 public:
  // steps_per_second[k - 1]: on k cores; each above 0, at least one.
  explicit SpeedCurve(std::vector<double> steps_per_second);

  // Steps per second on that many cores; 0 on none, beyond Size() as on Size().
  double At(int cores) const;
  int Size() const { return static_cast<int>(steps_per_second_.size()); }

 private:
  std::vector<double> steps_per_second_;
};

}  // namespace cosched
