#include "workloads/fit_scaling_law.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unsupported/Eigen/NonLinearOptimization>

#include "engine/base/check.h"
#include "engine/base/portable_math.h"

namespace cosched {
namespace {

using Kind = ScalingLaw::Kind;

constexpr double kClearlyBetter = 0.9;  // Times the error of the simpler law.

// The optimiser works without bounds: a law's parameters are functions of free numbers that keep
// within them.
std::vector<double> ParametersOf(Kind kind, const Eigen::VectorXd& free) {
  const auto square = [&free](int i) { return free[i] * free[i]; };
  switch (kind) {
    case Kind::kAmdahl: return {square(0) / (1 + square(0))};
    case Kind::kUniversalScalability: return {square(0), square(1)};
    case Kind::kDowney: return {1 + square(0), square(1)};
  }
  return {};
}

// Errors of log(speed-up), one a point, with derivatives by differences: Downey's law has kinks.
struct Residuals {
  using Scalar = double;
  using InputType = Eigen::VectorXd;
  using ValueType = Eigen::VectorXd;
  using JacobianType = Eigen::MatrixXd;
  static constexpr int InputsAtCompileTime = Eigen::Dynamic;
  static constexpr int ValuesAtCompileTime = Eigen::Dynamic;

  Kind kind;
  const std::vector<SpeedUpPoint>& points;

  int inputs() const { return ParameterCount(kind); }
  // The optimiser refuses fewer errors than parameters; it gets no such points.
  int values() const { return static_cast<int>(points.size()); }

  int operator()(const InputType& free, ValueType& errors) const {
    const ScalingLaw law{kind, ParametersOf(kind, free), {}};
    for (int i = 0; i < values(); ++i)
      errors[i] = PortableLog(law.SpeedUp(points[i].cores)) - PortableLog(points[i].speed_up);
    return 0;
  }
  int df(const InputType& free, JacobianType& jacobian) const {
    constexpr double kStep = 1e-6;
    ValueType above(values()), below(values());
    for (int i = 0; i < inputs(); ++i) {
      InputType moved = free;
      moved[i] = free[i] + kStep;
      (*this)(moved, above);
      moved[i] = free[i] - kStep;
      (*this)(moved, below);
      jacobian.col(i) = (above - below) / (2 * kStep);
    }
    return 0;
  }
};

// Where the search begins: none at 0, where a square has no slope.
std::vector<Eigen::VectorXd> Starts(Kind kind) {
  std::vector<Eigen::VectorXd> starts;
  for (double first : {0.05, 0.3, 1.0, 4.0}) {
    if (kind == Kind::kAmdahl) {
      starts.push_back(Eigen::VectorXd::Constant(1, first));
      continue;
    }
    for (double second : {0.02, 0.2, 1.0})
      starts.emplace_back(Eigen::Vector2d(first * (kind == Kind::kDowney ? 2 : 1), second));
  }
  return starts;
}

std::vector<SpeedUpPoint> BeyondOneCore(const std::vector<SpeedUpPoint>& points) {
  std::vector<SpeedUpPoint> beyond;
  for (const SpeedUpPoint& point : points) {
    CHECK(point.cores >= 1 && point.speed_up > 0)
        << "speed-up " << point.speed_up << " on " << point.cores << " cores";
    if (point.cores > 1) beyond.push_back(point);
  }
  return beyond;
}

// nullopt: leaving one out leaves fewer points than parameters.
std::optional<double> CrossValidate(Kind kind, const std::vector<SpeedUpPoint>& points) {
  if (static_cast<int>(points.size()) - 1 < ParameterCount(kind)) return std::nullopt;
  double sum = 0;
  for (size_t left_out = 0; left_out < points.size(); ++left_out) {
    std::vector<SpeedUpPoint> rest = points;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
    const ScalingLaw law = FitScalingLaw(kind, rest);
    sum += std::abs(law.SpeedUp(points[left_out].cores) / points[left_out].speed_up - 1);
  }
  return sum / static_cast<double>(points.size());
}

}  // namespace

ScalingLaw FitScalingLaw(Kind kind, const std::vector<SpeedUpPoint>& points) {
  const std::vector<SpeedUpPoint> beyond = BeyondOneCore(points);
  CHECK(static_cast<int>(beyond.size()) >= ParameterCount(kind))
      << beyond.size() << " points for " << ToString(kind);
  Residuals residuals{kind, beyond};
  ScalingLaw best{kind, {}, {}};
  double least = std::numeric_limits<double>::infinity();
  for (Eigen::VectorXd free : Starts(kind)) {
    Eigen::LevenbergMarquardt<Residuals> search(residuals);
    search.minimize(free);
    Eigen::VectorXd errors(residuals.values());
    residuals(free, errors);
    if (!(errors.squaredNorm() < least)) continue;
    least = errors.squaredNorm();
    best.parameters = ParametersOf(kind, free);
  }
  CHECK(!best.parameters.empty()) << "no fit of " << ToString(kind);
  return best;
}

ScalingLaw FitScalingLaw(const std::vector<SpeedUpPoint>& points) {
  const std::vector<SpeedUpPoint> beyond = BeyondOneCore(points);
  if (beyond.empty()) return {Kind::kAmdahl, {0.0}, {}};
  Kind best = Kind::kAmdahl;
  std::optional<double> least;
  // The one with fewest parameters comes first and is kept unless another is clearly better.
  for (Kind kind : {Kind::kAmdahl, Kind::kUniversalScalability, Kind::kDowney}) {
    const std::optional<double> error = CrossValidate(kind, beyond);
    if (!error || (least && *error > kClearlyBetter * *least)) continue;
    best = kind;
    least = error;
  }
  ScalingLaw law = FitScalingLaw(best, beyond);
  law.error = least;
  return law;
}

}  // namespace cosched
