#include "workloads/scaling_law.h"

#include <algorithm>

#include "engine/base/check.h"

namespace cosched {
namespace {

double Downey(double parallelism, double sigma, double k) {
  const double a = parallelism;
  if (sigma <= 1) {
    if (k <= a) return a * k / (a + sigma / 2 * (k - 1));
    if (k < 2 * a - 1) return a * k / (sigma * (a - 0.5) + k * (1 - sigma / 2));
    return a;
  }
  if (k < a + a * sigma - sigma) return k * a * (sigma + 1) / (sigma * (k + a - 1) + a);
  return a;
}

}  // namespace

double ScalingLaw::SpeedUp(double cores) const {
  CHECK(static_cast<int>(parameters.size()) == ParameterCount(kind))
      << ToString(kind) << " with " << parameters.size() << " parameters";
  const double k = std::max(1.0, cores);
  switch (kind) {
    case Kind::kAmdahl: return k / (1 + parameters[0] * (k - 1));
    case Kind::kUniversalScalability:
      return k / (1 + parameters[0] * (k - 1) + parameters[1] * k * (k - 1));
    case Kind::kDowney: return Downey(parameters[0], parameters[1], k);
  }
  return 1;
}

std::string_view ToString(ScalingLaw::Kind kind) {
  switch (kind) {
    case ScalingLaw::Kind::kAmdahl: return "amdahl";
    case ScalingLaw::Kind::kUniversalScalability: return "usl";
    case ScalingLaw::Kind::kDowney: return "downey";
  }
  return "";
}

std::optional<ScalingLaw::Kind> ParseScalingLaw(std::string_view text) {
  using Kind = ScalingLaw::Kind;
  for (Kind kind : {Kind::kAmdahl, Kind::kUniversalScalability, Kind::kDowney}) {
    if (ToString(kind) == text) return kind;
  }
  return std::nullopt;
}

int ParameterCount(ScalingLaw::Kind kind) { return kind == ScalingLaw::Kind::kAmdahl ? 1 : 2; }

}  // namespace cosched
