// KOSMOS's vertical controller: as ROMA's, PI on the inverse of the mean response, in millicores,
// with the error cut at 10 either way, at most half as much again in one step, and gains that may
// follow the error. A window without answers counts as an infinite response rate, so it takes cores
// away, as published. Source: Baresi, Quattrocchi, Rasi, "KOSMOS: Vertical and Horizontal Resource
// Autoscaling for Kubernetes", ICSOC 2021, and its published code, whose order it keeps: gains
// change after they were used, so the state that is carried on holds the new B with the old
// error.

#include <algorithm>
#include <array>
#include <cmath>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr double kMostError = 10;
constexpr double kMostGrowth = 1.5;  // In one window.
constexpr double kLeastB = 10, kMostB = 100, kLeastD = 15, kMostD = 150;

class KosmosInstance final : public InstanceController {
 public:
  KosmosInstance(double b, double d, bool adaptive)
      : b0_(b), d0_(d), adaptive_(adaptive), b_(b), d_(d) {}

  double Next(const InstanceWindow& window) override {
    const double response_s = ToSeconds(window.server.mean_response);
    error_ = window.server.answered > 0
                 ? std::clamp(1 / window.objective_s - 1 / response_s, -kMostError, kMostError)
                 : -kMostError;
    const double wanted = (state_ + (b_ + d_) * error_) / 1000;
    if (adaptive_) Adapt();
    return std::min(wanted, kMostGrowth * window.job.amount.Cores());
  }
  void Got(double cores) override { state_ = cores * 1000 - b_ * error_; }

 private:
  void Adapt() {
    b_ = std::clamp(b_ * std::sqrt(2 * std::abs(error_)), kLeastB, kMostB);
    d_ = std::clamp(b_ * d0_ / b0_, kLeastD, kMostD);
  }

  const double b0_, d0_;
  const bool adaptive_;
  double b_, d_;
  double state_ = 0;  // Millicores.
  double error_ = 0;
};

constexpr std::array<PolicyParameter, 5> kKosmosParameters{{
    {"b", "40", "number > 0 and <= 100000", "proportional gain, millicore seconds"},
    {"d", "80", "number > 0 and <= 100000", "integral gain of a window, millicore seconds"},
    {"gains", "fixed", "fixed | adaptive", "adaptive: they grow with the error"},
    {"aim", "1", "number > 0 and <= 1", "of the objective: the mean response wanted"},
    {"least", "0.1", "number >= 0.001 and <= 4096",
     "cores of an instance, at least; published: 0.005"},
}};

}  // namespace

PolicyInfo KosmosPolicy() {
  return {
      .name = "kosmos",
      .summary = "each instance's share follows the inverse of its mean response, by bounded steps",
      .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021 (KOSMOS), its vertical controller",
      .parameters = kKosmosParameters,
      .shares = true,
      .on_settled = false,
      .needs_objective = true,
      .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
        const double b = NumberOf(parameters, "b"), d = NumberOf(parameters, "d");
        const bool adaptive = parameters.at("gains") == "adaptive";
        return std::make_unique<CoreController>(
            ControllerLimits{.least = ShareOf(parameters, "least"),
                             .grid = {1},
                             .nearest = true,
                             .aim = NumberOf(parameters, "aim")},
            [=] { return std::make_unique<KosmosInstance>(b, d, adaptive); });
      }};
}

}  // namespace cosched
