// FA2, as Sponge compares with it: an instance is a number of lanes of one core each, which compute
// batches of their own side by side. Every period the least n of them with which
//
//   n floor(1 s / l) b >= requests a second
//
// where l is what a batch of b takes on one core (policies/latency_model.h), and with which all
// that came in the last period would have been answered within 0.9 of the objective, had it come at
// once and each lane had its part of it; if no number is enough, it keeps what it has. Source:
// Razavi, Luthra, Koldehofe, Mühlhäuser, Wang, "FA2: Fast, Accurate Autoscaling for Serving Deep
// Learning Inference with SLA Guarantees", RTAS 2022, in the form of Sponge's published code.
// Batches are of one request (sponge.cc). A rigid job's lanes are its own.

#include <array>
#include <cmath>
#include <optional>

#include "policies/control_period.h"
#include "policies/latency_model.h"
#include "policies/registry.h"

namespace cosched {
namespace {

class Fa2Instance final : public InstanceController {
 public:
  explicit Fa2Instance(double period_s) : period_s_(period_s), period_(period_s) {}

  double Next(const InstanceWindow& window) override {
    const int lanes = window.job.amount.Threads();
    latency_.Add(window, lanes);
    if (wanted_ == 0) wanted_ = lanes;
    const std::optional<InstancePeriod> period = period_.Add(window);
    if (period) wanted_ = LeastLanes(window, *period).value_or(wanted_);
    return wanted_;
  }
  void Got(double) override {}

 private:
  std::optional<int> LeastLanes(const InstanceWindow& window, const InstancePeriod& period) const {
    const double rate = period.dispatched / period.length_s;
    const double batch_s = latency_.Model().Of(1, 1);
    const LatencyDemand demand = {
        .requests = static_cast<int64_t>(std::ceil(rate * period_s_ - kRounding)),
        .waited_s = latency_.WaitedS(),
        .objective_s = window.objective_s};
    const double lane_rate = std::floor(1 / batch_s + kRounding);  // What one of them can do.
    for (int lanes = 1; lanes <= window.job.request.max; ++lanes) {
      const int64_t batches = (demand.requests + lanes - 1) / lanes;
      if (lanes * lane_rate >= rate - kRounding && demand.IsKept(batch_s, batches)) return lanes;
    }
    return std::nullopt;
  }

  static constexpr double kRounding = 1e-9;
  const double period_s_;
  ControlPeriod period_;
  LatencyFit latency_;
  int wanted_ = 0;  // None yet.
};

constexpr std::array<PolicyParameter, 2> kFa2Parameters{{
    {"period_s", "1", "number > 0 and <= 86400", "between decisions"},
    {"least", "1", "integer >= 1 and <= 4096", "lanes of an instance, at least"},
}};

}  // namespace

PolicyInfo Fa2Policy() {
  return {.name = "fa2",
          .summary = "the least lanes of one core each that can answer what came in a second",
          .source = "Razavi et al., RTAS 2022 (FA2), as Sponge, EuroMLSys 2024, has it",
          .parameters = kFa2Parameters,
          .needs_speed = true,
          .shares = true,
          .on_settled = false,
          .needs_objective = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const double period_s = NumberOf(parameters, "period_s");
            const ControllerLimits limits = {
                .least = ShareOf(parameters, "least"), .grid = {1000}, .lanes = true};
            return std::make_unique<CoreController>(
                limits, [period_s] { return std::make_unique<Fa2Instance>(period_s); });
          }};
}

}  // namespace cosched
