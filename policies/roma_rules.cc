// The rules that ROMA is compared with: a core more where a service's mean response in a window is
// above 0.8 of its objective, a core less where it is below 0.2, and then nothing for a while. The
// mean is of all that the service's servers answered, so an instance may get cores for what another
// was slow at; a window without answers takes a core away, as published. Source: the published code
// of Baresi, Quattrocchi, Rasi, ICSOC 2021 (controller_manager_rules.py).

#include <array>

#include "policies/core_controller.h"
#include "policies/registry.h"

namespace cosched {
namespace {

struct Rules {
  double above = 0, below = 0;  // Of the objective.
  double step = 0;              // Cores.
  double rest_s = 0;            // After a change.
};

class RuleInstance final : public InstanceController {
 public:
  explicit RuleInstance(const Rules& rules) : rules_(rules) {}

  double Next(const InstanceWindow& window) override {
    rested_s_ += window.length_s;
    cores_ = window.job.amount.Cores();
    if (changed_ && rested_s_ < rules_.rest_s) return cores_;
    const double part = ToSeconds(window.service.mean_response) / window.objective_s;
    if (part > rules_.above) return cores_ + rules_.step;
    return part < rules_.below ? cores_ - rules_.step : cores_;
  }
  void Got(double cores) override {
    if (cores == cores_) return;
    rested_s_ = 0;
    changed_ = true;
  }

 private:
  const Rules rules_;
  double cores_ = 0;     // Before the latest answer.
  double rested_s_ = 0;  // Since the last change.
  bool changed_ = false;
};

constexpr std::array<PolicyParameter, 5> kRulesParameters{{
    {"above", "0.8", "number > 0 and <= 100", "of the objective: a core more beyond it"},
    {"below", "0.2", "number >= 0 and <= 100", "of the objective: a core less under it"},
    {"step", "1", "number >= 0.1 and <= 4096", "cores more or less"},
    {"rest_s", "60", "number >= 0 and <= 86400", "after a change nothing changes for so long"},
    {"least", "1", "number >= 0.01 and <= 4096", "cores of an instance, at least"},
}};

}  // namespace

PolicyInfo RomaRulesPolicy() {
  return {.name = "roma-rules",
          .summary = "a core more above 0.8 of the objective, one less below 0.2, then a rest",
          .source = "Baresi, Quattrocchi, Rasi, ICSOC 2021 (ROMA), what it is compared with",
          .parameters = kRulesParameters,
          .shares = true,
          .on_settled = false,
          .needs_objective = true,
          .make = [](const PolicyParameters& parameters) -> std::unique_ptr<Policy> {
            const Rules rules = {.above = NumberOf(parameters, "above"),
                                 .below = NumberOf(parameters, "below"),
                                 .step = NumberOf(parameters, "step"),
                                 .rest_s = NumberOf(parameters, "rest_s")};
            return std::make_unique<CoreController>(
                ControllerLimits{.least = ShareOf(parameters, "least"), .grid = {100}},
                [rules] { return std::make_unique<RuleInstance>(rules); });
          }};
}

}  // namespace cosched
