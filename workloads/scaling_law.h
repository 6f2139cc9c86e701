#pragma once
// How speed-up grows with cores, in closed form: what carries a measured curve beyond the cores of
// the machine that measured it. Pure; which law and which parameters is chosen by `cosched
// calibrate` (cross-validation) and kept in the profile.
//   Amdahl, AFIPS 1967: k / (1 + serial (k - 1)); parameters {serial}, 0..1.
//   Universal Scalability Law (Gunther, "Guerrilla Capacity Planning", 2007):
//     k / (1 + contention (k - 1) + coherence k (k - 1)); parameters {contention, coherence}.
//   Downey, "A model for speedup of parallel programs", UCB/CSD-97-933, 1997; parameters
//     {parallelism, variance}: its A >= 1 and sigma >= 0.

#include <optional>
#include <string_view>
#include <vector>

namespace cosched {

struct ScalingLaw {
  enum class Kind { kAmdahl, kUniversalScalability, kDowney };
  Kind kind = Kind::kAmdahl;
  std::vector<double> parameters = {0.0};  // As many as the law has, within its bounds.
  // Cross-validated: mean relative error at a left-out number of cores. Empty = unknown, because
  // too few were measured to leave one out.
  std::optional<double> error = {};

  // Speed on k cores over speed on 1; k >= 1, also fractions. 1 at k = 1.
  double SpeedUp(double cores) const;
};

std::string_view ToString(ScalingLaw::Kind kind);  // "amdahl", "usl", "downey"
std::optional<ScalingLaw::Kind> ParseScalingLaw(std::string_view text);
int ParameterCount(ScalingLaw::Kind kind);

}  // namespace cosched
