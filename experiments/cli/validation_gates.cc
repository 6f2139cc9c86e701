#include "experiments/cli/validation_gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "engine/base/read_number.h"
#include "experiments/analysis/estimate.h"
#include "experiments/cli/typed_option.h"
#include "experiments/cli/validate.h"
#include "experiments/config/option_refusal.h"

namespace cosched {
namespace {

// A bare --max-error is about these.
constexpr std::string_view kGated[] = {"makespan", "turnaround", "throughput"};

std::string MetricNames() {
  std::vector<std::string> names;
  for (const ValidatedMetric& metric : kMetrics) names.emplace_back(metric.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// "0.05" or "makespan=0.05".
void AddGate(const char* option, const std::string& text, std::map<size_t, double>* limits) {
  const size_t equal = text.find('=');
  const bool bare = equal == std::string::npos;
  const std::string_view name = std::string_view(text).substr(0, bare ? 0 : equal);
  const std::string_view number = std::string_view(text).substr(bare ? 0 : equal + 1);
  const std::optional<double> share = ReadNumber<double>(number, 0, kLargestGate);
  if (!share) RefuseValue(option, number, NumbersAllowed(0.0, kLargestGate));
  bool known = false;
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    const bool meant =
        bare ? std::find(std::begin(kGated), std::end(kGated), kMetrics[i].name) != std::end(kGated)
             : name == kMetrics[i].name;
    if (!meant) continue;
    // An option that names its metric counts more than one that means several.
    if (bare) limits->emplace(i, *share);
    if (!bare) (*limits)[i] = *share;
    known = true;
  }
  if (!known)
    RefuseOption(option, fmt::format("there is no metric \"{}\"", name),
                 fmt::format("SHARE or METRIC=SHARE with one of {}", MetricNames()));
}

// Why a gate may be out of any model's reach.
std::string AgainText(const Validation& validation, size_t metric, double most) {
  if (!validation.again_absolute_error) return "";
  const double again = (*validation.again_absolute_error)[metric].value;
  return fmt::format(" (the hardware, run again, misses itself by {:.1f} %{})", again * 100,
                     again > most ? ": no answer can be had of the model" : "");
}

ValidationGate ErrorGate(const Validation& validation, size_t metric, double most) {
  const Estimate& error = validation.absolute_error[metric];
  ValidationGate gate{
      .gate = "max-error", .metric = kMetrics[metric].name, .limit = most, .text = {}};
  gate.holds = error.samples > 0 && error.value <= most;
  if (error.samples > 0) gate.value = error.value;
  gate.text =
      fmt::format("mean absolute error of a trace, {}: median {:.1f} % {} {:g} %: {}{}",
                  kMetrics[metric].title, error.value * 100, gate.holds ? "<=" : ">", most * 100,
                  gate.holds ? "holds" : "does not hold", AgainText(validation, metric, most));
  return gate;
}

// By the policy's median over the traces.
ValidationGate PolicyGate(const PolicyErrors& policy, size_t metric, double most) {
  const Estimate& error = policy.error[metric];
  ValidationGate gate{.gate = "max-policy-error",
                      .metric = kMetrics[metric].name,
                      .policy = fmt::format("{} {}", policy.policy, ToString(policy.elasticity)),
                      .value = error.value,
                      .limit = most,
                      .holds = std::abs(error.value) <= most,
                      .text = {}};
  const bool decided = Decides(error) && (error.high < -most || error.low > most ||
                                          (error.low >= -most && error.high <= most));
  gate.text = fmt::format("error of {}, {}: {} %, at most {:g} %: {}{}", gate.policy,
                          kMetrics[metric].title, PercentText(error, true), most * 100,
                          gate.holds ? "holds" : "does not hold",
                          decided ? "" : ", though noise leaves the other answer open");
  return gate;
}

// A ranking of the policies by one metric.
struct ByMetric {
  const char* name;
  const char* title;
  const std::optional<RankingAgreement>& ranking;
};

ValidationGate RegretGate(const ByMetric& by, double most) {
  ValidationGate gate{.gate = "max-regret", .metric = by.name, .limit = most, .text = {}};
  if (!by.ranking) {
    gate.text = fmt::format("regret by {}: there is no ranking", by.title);
    return gate;
  }
  gate.value = by.ranking->told_regret;
  gate.holds = by.ranking->told_regret <= most;
  gate.text = fmt::format(
      "regret by {} against policies that the hardware tells apart {:.1f} % {} {:g} %: {}{}",
      by.title, by.ranking->told_regret * 100, gate.holds ? "<=" : ">", most * 100,
      gate.holds ? "holds" : "does not hold",
      by.ranking->told_apart > 0 ? "" : " (it tells none: no answer can be had)");
  return gate;
}

ValidationGate TauGate(const ByMetric& by, double least) {
  ValidationGate gate{.gate = "min-tau", .metric = by.name, .limit = least, .text = {}};
  if (!by.ranking) {
    gate.text = fmt::format("tau by {}: there is no ranking", by.title);
    return gate;
  }
  const double tau = by.ranking->tau_of_means;
  const bool reached = tau >= least, excused = by.ranking->MeasuredCannotTell(least);
  gate.value = tau;
  gate.holds = reached || excused;
  gate.text = fmt::format(
      "tau of the means by {} {:.2f} {} {:g}: {}", by.title, tau, reached ? ">=" : "<", least,
      reached   ? "holds"
      : excused ? "but the hardware itself can't rank these policies that well (above)"
                : "does not hold");
  return gate;
}

}  // namespace

ValidationLimits ReadValidationLimits(const ValidateArguments& arguments) {
  ValidationLimits limits;
  for (const std::string& text : arguments.max_error)
    AddGate("--max-error", text, &limits.max_error);
  for (const std::string& text : arguments.max_policy_error)
    AddGate("--max-policy-error", text, &limits.max_policy_error);
  limits.min_tau = arguments.min_tau;
  limits.max_regret = arguments.max_regret;
  return limits;
}

std::vector<ValidationGate> JudgeGates(const Validation& validation,
                                       const ValidationLimits& limits) {
  std::vector<ValidationGate> gates;
  for (const auto& [metric, most] : limits.max_error)
    gates.push_back(ErrorGate(validation, metric, most));
  for (const auto& [metric, most] : limits.max_policy_error) {
    for (const PolicyErrors& policy : validation.policies)
      gates.push_back(PolicyGate(policy, metric, most));
    if (validation.policies.empty()) {
      gates.push_back(
          {.gate = "max-policy-error",
           .metric = kMetrics[metric].name,
           .limit = most,
           .text = fmt::format("error of a policy, {}: there is none", kMetrics[metric].title)});
    }
  }
  const ByMetric rankings[] = {{"makespan", "makespan", validation.by_makespan},
                               {"turnaround", "mean turnaround", validation.by_turnaround}};
  for (const ByMetric& by : rankings)
    if (limits.max_regret) gates.push_back(RegretGate(by, *limits.max_regret));
  for (const ByMetric& by : rankings)
    if (limits.min_tau) gates.push_back(TauGate(by, *limits.min_tau));
  return gates;
}

bool AllHold(const std::vector<ValidationGate>& gates) {
  return std::ranges::all_of(gates, &ValidationGate::holds);
}

std::string GatesText(const std::vector<ValidationGate>& gates) {
  std::string text;
  for (const ValidationGate& gate : gates) text += fmt::format("gate: {}\n", gate.text);
  return text;
}

nlohmann::ordered_json GatesJson(const std::vector<ValidationGate>& gates) {
  using Json = nlohmann::ordered_json;
  Json json = Json::array();
  for (const ValidationGate& gate : gates) {
    json.push_back({{"gate", gate.gate},
                    {"metric", gate.metric},
                    {"policy", gate.policy.empty() ? Json() : Json(gate.policy)},
                    {"value", gate.value ? Json(*gate.value) : Json()},
                    {"limit", gate.limit},
                    {"holds", gate.holds},
                    {"text", gate.text}});
  }
  return json;
}

}  // namespace cosched
