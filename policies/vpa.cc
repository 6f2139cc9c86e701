// Kubernetes' vertical autoscaler: an instance has what it used for nine tenths of its past, and a
// margin. Each period's mean use is a sample in a histogram whose buckets grow by a twentieth; it
// weighs as many cores as the instance had, and half of that after every half-life. With the
// published half-life of a day a run of minutes is all present; `half_life_s` and `period_s` let an
// experiment have the same in its own time. Source: the recommender of github.com/kubernetes/
// autoscaler, vertical-pod-autoscaler (percentile 0.9, margin 15 %, least 25 millicores, a minute
// between samples, half-life 24 h), without its bounds for the age of what is known.

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/base/portable_math.h"
#include "policies/control_period.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr double kLeastWeight = 0.1;  // Of a sample, in cores.

// Of cores; bucket i begins at 0.01 (1.05^i - 1) / 0.05.
class UseHistogram {
 public:
  void Decay(double factor) {
    for (double& weight : weights_) weight *= factor;
  }

  void Add(double cores, double weight) {
    const double at =
        std::floor(PortableLog(1 + cores * (kGrowth - 1) / kFirst) / PortableLog(kGrowth));
    const auto bucket = static_cast<size_t>(std::max(0.0, at));
    if (bucket >= weights_.size()) weights_.resize(bucket + 1);
    weights_[bucket] += weight;
  }

  // The end of the bucket below whose end such a part of the weight is.
  double Percentile(double part) const {
    const double below = part * std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double sum = 0;
    size_t bucket = 0;
    while (bucket + 1 < weights_.size() && sum + weights_[bucket] < below)
      sum += weights_[bucket++];
    return kFirst * (PortablePow(kGrowth, static_cast<double>(bucket + 1)) - 1) / (kGrowth - 1);
  }

 private:
  static constexpr double kFirst = 0.01, kGrowth = 1.05;
  std::vector<double> weights_;
};

struct VpaSettings {
  double percentile = 0;
  double margin = 0;
  double half_life_s = 0;
  double period_s = 0;
};

class VpaInstance final : public InstanceController {
 public:
  explicit VpaInstance(const VpaSettings& settings)
      : settings_(settings), period_(settings.period_s) {}

  double Next(const InstanceWindow& window) override {
    const double cores = window.job.amount.Cores();
    const std::optional<InstancePeriod> period = period_.Add(window);
    if (period) {
      used_.Decay(PortablePow(2, -period->length_s / settings_.half_life_s));
      used_.Add(period->cpu_s / period->length_s, std::max(kLeastWeight, cores));
      wanted_ = used_.Percentile(settings_.percentile) * (1 + settings_.margin);
    }
    return wanted_.value_or(cores);
  }
  void Got(double) override {}

 private:
  const VpaSettings settings_;
  ControlPeriod period_;
  UseHistogram used_;
  std::optional<double> wanted_;
};

constexpr std::array<PolicyParameter, 6> kVpaParameters{{
    {"percentile", "0.9", "number > 0 and <= 1", "part of the past that its cores are enough for"},
    {"margin", "0.15", "number >= 0 and <= 10", "on top, as a part of that"},
    {"half_life_s", "86400", "number > 0 and <= 1000000000", "after it a sample weighs half"},
    {"period_s", "60", "number > 0 and <= 86400", "between samples, and decisions"},
    {"initial", "1", "number >= 0.001 and <= 4096", "cores of an instance at first"},
    {"least", "0.025", "number >= 0.001 and <= 4096", "cores of an instance, at least"},
}};

}  // namespace

PolicyInfo VpaPolicy() {
  return {.name = "vpa",
          .summary = "each instance's share is a high percentile of what it used, and a margin",
          .source = "Kubernetes' vertical pod autoscaler, github.com/kubernetes/autoscaler",
          .parameters = kVpaParameters,
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const VpaSettings settings = {.percentile = NumberOf(parameters, "percentile"),
                                          .margin = NumberOf(parameters, "margin"),
                                          .half_life_s = NumberOf(parameters, "half_life_s"),
                                          .period_s = NumberOf(parameters, "period_s")};
            const ControllerLimits limits = {.least = ShareOf(parameters, "least"),
                                             .grid = {1},
                                             .initial = ShareOf(parameters, "initial")};
            return std::make_unique<CoreController>(
                limits, [settings] { return std::make_unique<VpaInstance>(settings); });
          }};
}

}  // namespace cosched
