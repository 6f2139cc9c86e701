// ROMA's second controller: PI on the queue. An instance that meets its objective has, by Little's
// law, SLA x lambda requests, where lambda is the rate at which it was given requests in the window;
// with q, those that it has at the window's end, and e = SLA lambda - q,
//
//   p = K e;  i = i' + K (T / Ti) e;  c = p + i, within its bounds;  i' = c - p
//
// K < 0: more than wanted are there, so more cores. Source: the published code of Baresi,
// Quattrocchi, Rasi, ICSOC 2021 (controller_manager_2.py), which lets the instances of a node ask
// for more than it has; here they are cut in proportion.

#include <array>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class QueueInstance final : public InstanceController {
 public:
  QueueInstance(double k, double reset_s, double least)
      : k_(k), reset_s_(reset_s), least_(least), integral_(least) {}

  double Next(const InstanceWindow& window) override {
    const auto in_flight = static_cast<double>(window.server.in_flight);
    const double rate = static_cast<double>(window.server.dispatched) / window.length_s;
    proportional_ = 0;
    if (rate == 0 && in_flight == 0) return least_;
    const double error = window.objective_s * rate - in_flight;
    proportional_ = k_ * error;
    return proportional_ + integral_ + k_ * (window.length_s / reset_s_) * error;
  }
  void Got(double cores) override { integral_ = cores - proportional_; }

 private:
  const double k_, reset_s_, least_;
  double integral_;
  double proportional_ = 0;
};

constexpr std::array<PolicyParameter, 4> kQueueParameters{{
    {"k", "-0.03", "number >= -100 and < 0", "gain, cores a request"},
    {"ti_s", "8", "number > 0 and <= 86400", "integral time"},
    {"aim", "1", "number > 0 and <= 1", "of the objective: the mean response wanted"},
    {"least", "0.1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
}};

}  // namespace

PolicyInfo RomaCt2Policy() {
  return {.name = "roma-ct2",
          .summary = "each instance's share follows the requests that it has (PI)",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021 (ROMA), its code's second controller",
          .parameters = kQueueParameters,
          .shares = true,
          .on_settled = false,
          .needs_objective = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const double k = NumberOf(parameters, "k");
            const double reset_s = NumberOf(parameters, "ti_s");
            const double least = NumberOf(parameters, "least");
            return std::make_unique<CoreController>(
                ControllerLimits{.least = ShareOf(parameters, "least"),
                                 .grid = {1},
                                 .nearest = true,
                                 .aim = NumberOf(parameters, "aim")},
                [=] { return std::make_unique<QueueInstance>(k, reset_s, least); });
          }};
}

}  // namespace cosched
