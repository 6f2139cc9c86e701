#include "workloads/draw_delay.h"

#include <algorithm>

namespace cosched {

Duration DrawDelay(const DelayQuantiles& quantiles, Random* random) {
  if (quantiles.empty()) return Duration::zero();
  const double place = random->Uniform() * static_cast<double>(quantiles.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, quantiles.size() - 1);
  const double share = place - static_cast<double>(below);
  return FromSeconds(quantiles[below] + share * (quantiles[above] - quantiles[below]));
}

}  // namespace cosched
