// Kubernetes' horizontal autoscaler turned to cores, as serving systems are compared with it: every
// period the cores that an instance has, times what it used of them by what it should use,
//
//   c' = c x use / target, up to the grid
//
// unless that is within a tenth of what it has. It grows at once, and shrinks to no less than the
// most that it wanted in the last minutes. Kubernetes adds and removes pods; here steps of the grid
// of an instance. Source: kubernetes.io, "Horizontal Pod Autoscaling" (15 s, tolerance 0.1,
// downscale stabilization 300 s), as InfAdapter (Salmani et al., EuroMLSys 2023) compares with it.

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <optional>

#include "policies/control_period.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr double kHpaRounding = 1e-9;

struct HpaSettings {
  double target = 0;
  double tolerance = 0;
  double period_s = 0;
  double calm_s = 0;
};

class HpaInstance final : public InstanceController {
 public:
  explicit HpaInstance(const HpaSettings& settings)
      : settings_(settings), period_(settings.period_s) {}

  double Next(const InstanceWindow& window) override {
    const double cores = window.job.amount.Cores();
    if (earlier_.empty()) earlier_.push_back({now_s_, cores});  // What it has at first was wanted.
    now_s_ += window.length_s;
    const std::optional<InstancePeriod> period = period_.Add(window);
    if (period) wanted_ = Calmed(cores, Recommended(cores, *period));
    return wanted_.value_or(cores);
  }
  void Got(double) override {}

 private:
  struct Recommendation {
    double time_s, cores;
  };

  double Recommended(double cores, const InstancePeriod& period) const {
    const double ratio = period.cpu_s / period.granted_s / settings_.target;
    return std::abs(ratio - 1) > settings_.tolerance + kHpaRounding ? cores * ratio : cores;
  }

  double Calmed(double cores, double recommended) {
    while (!earlier_.empty() && earlier_.front().time_s < now_s_ - settings_.calm_s - kHpaRounding)
      earlier_.pop_front();
    double most = recommended;
    for (const Recommendation& one : earlier_) most = std::max(most, one.cores);
    earlier_.push_back({now_s_, recommended});
    return std::clamp(cores, recommended, most);
  }

  const HpaSettings settings_;
  ControlPeriod period_;
  std::deque<Recommendation> earlier_;
  std::optional<double> wanted_;
  double now_s_ = 0;
};

constexpr std::array<PolicyParameter, 7> kHpaParameters{{
    {"target", "0.8", "number > 0 and <= 1", "use of an instance's cores that is aimed at"},
    {"tolerance", "0.1", "number >= 0 and < 1", "of the target: nothing changes within it"},
    {"period_s", "15", "number > 0 and <= 86400", "between decisions"},
    {"calm_s", "300", "number >= 0 and <= 86400",
     "it shrinks to no less than it wanted in the last so many"},
    {"initial", "1", "number >= 0.01 and <= 4096", "cores of an instance at first"},
    {"least", "0.1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
    {"grid", "0.1", "number >= 0.001 and <= 1", "cores are multiples of it"},
}};

}  // namespace

PolicyInfo HpaPolicy() {
  return {.name = "hpa",
          .summary = "each instance's share follows the part of it that it uses",
          .source = "Kubernetes' horizontal pod autoscaler, kubernetes.io, turned to cores",
          .parameters = kHpaParameters,
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const HpaSettings settings = {.target = NumberOf(parameters, "target"),
                                          .tolerance = NumberOf(parameters, "tolerance"),
                                          .period_s = NumberOf(parameters, "period_s"),
                                          .calm_s = NumberOf(parameters, "calm_s")};
            const ControllerLimits limits = {.least = ShareOf(parameters, "least"),
                                             .grid = ShareOf(parameters, "grid"),
                                             .initial = ShareOf(parameters, "initial")};
            return std::make_unique<CoreController>(
                limits, [settings] { return std::make_unique<HpaInstance>(settings); });
          }};
}

}  // namespace cosched
