// ROMA's controller of cores: PI on the inverse of the mean response, per instance and window. With
// e = 1/SLA - 1/RT, where RT is the mean response of what this instance answered in the window,
//
//   c = x + B e + D e, up to 0.1 and within its bounds;  x' = c - B e
//
// and an instance that was asked nothing goes to its least. Source: Baresi, Quattrocchi, Rasi,
// "Resource Management for TensorFlow Inference", ICSOC 2021, and its published code. The published
// gains suit models that take about half a second on a core: for RT = S/c the loop is stable only
// while S > (2 B + D) / 2 = 0.295 s, so `gain` multiplies both; S / 0.59 s keeps the poles where
// the published ones are, whatever S, the time of a request on one core.

#include <array>
#include <cmath>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class RomaInstance final : public InstanceController {
 public:
  RomaInstance(double b, double d) : law_(b, d) {}

  double Next(const InstanceWindow& window) override {
    if (window.server.dispatched == 0 && window.server.answered == 0) {
      law_.Rest();
      return 0;
    }
    const double response_s = ToSeconds(window.server.mean_response);
    const double reached = window.server.answered > 0 ? 1 / response_s : 0;
    return law_.Next(1 / window.objective_s - reached);
  }
  void Got(double cores) override { law_.Got(cores); }

 private:
  VelocityLaw law_;
};

constexpr std::array<PolicyParameter, 7> kRomaParameters{{
    {"b", "0.21", "number >= 0 and <= 100", "proportional gain, core seconds"},
    {"d", "0.17", "number > 0 and <= 100", "integral gain of a window, core seconds"},
    {"gain", "1", "number > 0 and <= 1000",
     "times both; S / 0.59 for a request that takes S seconds on a core"},
    {"aim", "1", "number > 0 and <= 1", "of the objective: the mean response wanted"},
    {"least", "0.1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
    {"grid", "0.1", "number >= 0.001 and <= 1", "cores are multiples of it"},
    {"rounding", "ceil", "ceil | nearest", "to the grid"},
}};

}  // namespace

PolicyInfo RomaCtPolicy() {
  return {.name = "roma-ct",
          .summary = "each instance's share follows the inverse of its mean response (PI)",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021 (ROMA), its core controller",
          .parameters = kRomaParameters,
          .shares = true,
          .on_settled = false,
          .needs_objective = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const double gain = NumberOf(parameters, "gain");
            const double b = NumberOf(parameters, "b") * gain;
            const double d = NumberOf(parameters, "d") * gain;
            const ControllerLimits limits = {.least = ShareOf(parameters, "least"),
                                             .grid = ShareOf(parameters, "grid"),
                                             .nearest = parameters.at("rounding") == "nearest",
                                             .aim = NumberOf(parameters, "aim")};
            return std::make_unique<CoreController>(
                limits, [b, d] { return std::make_unique<RomaInstance>(b, d); });
          }};
}

}  // namespace cosched
