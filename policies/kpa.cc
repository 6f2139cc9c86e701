// Knative's autoscaler, which serves models in KServe, turned to cores: as many as the requests
// that were there in the mean over the stable time need, `target` x `utilization` each. If the last
// `panic_s` alone need twice what there is, it panics: it goes by these, and takes nothing away for
// a stable time. Down it goes by half at most. Knative adds and removes pods; here each of them is
// a whole core of an instance. Source: knative.dev, "Autoscaling: metrics and algorithm" (stable 60
// s, panic 6 s at 200 %, target utilization 70 %, max-scale-down-rate 2).

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

constexpr double kPanic = 2;       // Times the cores that there are.
constexpr double kMostShrink = 2;  // To this part of them at a time.
constexpr double kNothing = 1e-9;  // Beside a whole core.

struct KpaSettings {
  double requests_a_core = 0;
  double stable_s = 0, panic_s = 0;
};

class KpaInstance final : public InstanceController {
 public:
  explicit KpaInstance(const KpaSettings& settings) : settings_(settings) {}

  double Next(const InstanceWindow& window) override {
    now_s_ += window.length_s;
    seen_.push_front({window.length_s, window.server.mean_in_flight});
    seen_s_ += window.length_s;
    while (seen_s_ - seen_.back().length_s > std::max(settings_.stable_s, settings_.panic_s)) {
      seen_s_ -= seen_.back().length_s;
      seen_.pop_back();
    }
    const double cores = window.job.amount.Cores();
    const double stable = CoresFor(settings_.stable_s), panic = CoresFor(settings_.panic_s);
    if (panic >= kPanic * cores) panics_until_s_ = now_s_ + settings_.stable_s;
    if (now_s_ < panics_until_s_) return std::max({stable, panic, cores});
    return std::max(stable, std::floor(cores / kMostShrink + kNothing));
  }
  void Got(double) override {}

 private:
  struct Seen {
    double length_s, mean_in_flight;
  };

  // For the mean of the latest windows of so much time, of those that there were.
  double CoresFor(double time_s) {
    double sum = 0, length_s = 0;
    for (const Seen& window : seen_) {
      if (length_s > 0 && length_s + window.length_s > time_s + kNothing) break;
      sum += window.length_s * window.mean_in_flight;
      length_s += window.length_s;
    }
    return std::ceil(sum / length_s / settings_.requests_a_core - kNothing);
  }

  const KpaSettings settings_;
  std::deque<Seen> seen_;  // The latest first.
  double seen_s_ = 0;      // Their lengths, added up.
  double now_s_ = 0;
  double panics_until_s_ = 0;
};

constexpr std::array<PolicyParameter, 5> kKpaParameters{{
    {"target", "1", "number > 0 and <= 1000000", "requests that a core may have at once"},
    {"utilization", "0.7", "number > 0 and <= 1", "of the target that is aimed at"},
    {"stable_s", "60", "number > 0 and <= 86400", "time whose mean it goes by"},
    {"panic_s", "6", "number > 0 and <= 86400", "time whose mean may make it panic"},
    {"least", "1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
}};

}  // namespace

PolicyInfo KpaPolicy() {
  return {.name = "kpa",
          .summary = "each instance's cores follow the requests that it had in the last minute",
          .source = "Knative's autoscaler, knative.dev, as in KServe",
          .parameters = kKpaParameters,
          .shares = true,
          .on_settled = false,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const KpaSettings settings = {.requests_a_core = NumberOf(parameters, "target") *
                                                             NumberOf(parameters, "utilization"),
                                          .stable_s = NumberOf(parameters, "stable_s"),
                                          .panic_s = NumberOf(parameters, "panic_s")};
            return std::make_unique<CoreController>(
                ControllerLimits{.least = ShareOf(parameters, "least"), .grid = {1000}},
                [settings] { return std::make_unique<KpaInstance>(settings); });
          }};
}

}  // namespace cosched
