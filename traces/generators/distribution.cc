#include "traces/generators/distribution.h"

#include <array>

#include "engine/base/check.h"
#include "engine/base/portable_math.h"
#include "traces/generators/variates.h"

namespace cosched {
namespace {

struct NamedKind {
  Distribution::Kind kind;
  std::string_view name;
};
constexpr std::array kKinds = {
    NamedKind{Distribution::Kind::kFixed, "fixed"},
    NamedKind{Distribution::Kind::kNormal, "normal"},
    NamedKind{Distribution::Kind::kExponential, "exponential"},
    NamedKind{Distribution::Kind::kGamma, "gamma"},
    NamedKind{Distribution::Kind::kWeibull, "weibull"},
    NamedKind{Distribution::Kind::kPareto, "pareto"},
};

}  // namespace

std::string_view ToString(Distribution::Kind kind) {
  for (const NamedKind& known : kKinds) {
    if (known.kind == kind) return known.name;
  }
  return "";
}

bool ParseDistribution(std::string_view text, Distribution::Kind* result) {
  for (const NamedKind& known : kKinds) {
    if (known.name != text) continue;
    *result = known.kind;
    return true;
  }
  return false;
}

std::string DistributionNames() {
  std::string names;
  for (const NamedKind& known : kKinds)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

Sampler::Sampler(const Distribution& distribution)
    : distribution_(distribution), scale_(distribution.mean) {
  const auto [kind, mean, sd, cv, shape] = distribution;
  CHECK(mean >= 0 && sd >= 0) << "checked by whoever reads the file";
  switch (kind) {
    case Distribution::Kind::kGamma:
      CHECK(cv > 0);
      shape_ = 1 / (cv * cv);
      scale_ = mean / shape_;
      break;
    case Distribution::Kind::kWeibull:
      CHECK(shape > 0);
      shape_ = 1 / shape;
      scale_ = mean / PortableExp(PortableLogGamma(1 + shape_));
      break;
    case Distribution::Kind::kPareto:
      CHECK(shape > 1);
      shape_ = 1 / shape;
      scale_ = mean * (shape - 1) / shape;
      break;
    default: break;
  }
}

double Sampler::Draw(Random& random) const {
  switch (distribution_.kind) {
    case Distribution::Kind::kFixed: return scale_;
    case Distribution::Kind::kExponential: return scale_ * StandardExponential(random);
    case Distribution::Kind::kGamma: return scale_ * StandardGamma(shape_, random);
    case Distribution::Kind::kPareto:  // The logarithm of a Pareto variate is exponential.
      return scale_ * PortableExp(StandardExponential(random) * shape_);
    case Distribution::Kind::kWeibull: {  // The variate's k-th power is exponential.
      const double power = StandardExponential(random);
      return power > 0 ? scale_ * PortableExp(PortableLog(power) * shape_) : 0;
    }
    case Distribution::Kind::kNormal: break;
  }
  // The mean is >= 0, so at least every second draw is accepted.
  double value = -1;
  while (value < 0) value = random.Normal(distribution_.mean, distribution_.sd);
  return value;
}

}  // namespace cosched
