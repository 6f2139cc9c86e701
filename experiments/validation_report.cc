// The verdict on the simulator as text, and as JSON for its plot.

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "experiments/validation.h"

namespace cosched {
namespace {

std::string PercentText(const Estimate& estimate, bool sign) {
  return sign ? fmt::format("{:+.1f} [{:+.1f} {:+.1f}]", estimate.value * 100, estimate.low * 100,
                            estimate.high * 100)
              : fmt::format("{:.1f} [{:.1f} {:.1f}]", estimate.value * 100, estimate.low * 100,
                            estimate.high * 100);
}

std::string ErrorTable(const Validation& validation) {
  std::string text = fmt::format("{:<28}", "error in %, simulated : measured");
  for (const Metric& metric : kMetrics) text += fmt::format(" {:<20}", metric.title);
  text += "  alike\n";
  for (const PolicyErrors& policy : validation.policies) {
    text += fmt::format("{:<32}", fmt::format("{} {}", policy.policy, ToString(policy.elasticity)));
    for (const Estimate& error : policy.error)
      text += fmt::format(" {:<20}", PercentText(error, true));
    text += fmt::format(" {:>3}/{}\n", policy.alike, policy.trials);
  }
  text += fmt::format("{:<32}", "mean absolute error, all cells");
  for (const Estimate& error : validation.absolute_error)
    text += fmt::format(" {:<20}", PercentText(error, false));
  return text + "\n";
}

std::string RankingText(const char* metric, const RankingAgreement& ranking) {
  const auto interval = [](const Estimate& e) {
    return fmt::format("{:.2f} [{:.2f} {:.2f}]", e.value, e.low, e.high);
  };
  return fmt::format(
      "by {}: Kendall's tau {}; the winner agrees in {} % of trials; trusting the simulator costs "
      "{} %\n  the hardware against itself on other trials: tau {}; it tells {} of {} pairs of "
      "policies apart, and the simulator orders {} of these alike\n",
      metric, interval(ranking.tau), PercentText(ranking.winner, false),
      PercentText(ranking.regret, false), interval(ranking.measured_tau), ranking.told_apart,
      ranking.pairs, ranking.ordered_alike);
}

void AddLine(const std::string& line, std::string* text) { *text += "  * " + line + "\n"; }

// What is not the model's error, or not only.
std::string Notes(const Validation& validation) {
  std::string text;
  int saturated_both = 0, saturated_one = 0;
  std::map<std::string, int> marks;
  for (const CellPair& pair : validation.pairs) {
    const bool measured = pair.measured.saturated, simulated = pair.simulated.saturated;
    saturated_both += measured && simulated;
    saturated_one += measured != simulated;
    for (const std::string& mark : pair.measured.marks) ++marks["measured: " + mark];
    for (const std::string& mark : pair.simulated.marks) ++marks["simulated: " + mark];
    if (pair.Comparable()) continue;
    const bool alike = !pair.measured.problem.empty() && !pair.simulated.problem.empty();
    AddLine(fmt::format("NOT COMPARED, {}: {}: measured: {}; simulated: {}",
                        alike ? "both ended without an outcome" : "only one side has an outcome",
                        ToString(pair.key),
                        pair.measured.problem.empty() ? "done" : pair.measured.problem,
                        pair.simulated.problem.empty() ? "done" : pair.simulated.problem),
            &text);
  }
  const size_t all = validation.pairs.size();
  if (saturated_both > 0) {
    AddLine(
        fmt::format("saturated in both worlds: {} of {} cells: more work arrived than the cores "
                    "can do, so turnaround grows with the length of the trace, and an error of "
                    "speed with it",
                    saturated_both, all),
        &text);
  }
  if (saturated_one > 0) {
    AddLine(
        fmt::format("saturated in one world only: {} of {} cells: near saturation a small error "
                    "of speed is a large one of turnaround",
                    saturated_one, all),
        &text);
  }
  for (const auto& [mark, cells] : marks)
    AddLine(fmt::format("MARKED: {} ({} of {} cells)", mark, cells, all), &text);
  if (validation.ranked_trials > 0 && validation.ranked_trials < 5)
    AddLine(fmt::format("FEW TRIALS: {}; the intervals over trials mean little below 5",
                        validation.ranked_trials),
            &text);
  return text;
}

nlohmann::json Json(const Outcome& outcome) {
  nlohmann::json json;
  for (const Metric& metric : kMetrics) json[metric.name] = outcome.*metric.value;
  return json;
}

nlohmann::json Json(const Estimate& estimate) {
  return {{"value", estimate.value}, {"low", estimate.low}, {"high", estimate.high}};
}

nlohmann::json Json(const std::optional<RankingAgreement>& ranking) {
  if (!ranking) return nullptr;
  return {{"tau", Json(ranking->tau)},
          {"winner", Json(ranking->winner)},
          {"regret", Json(ranking->regret)},
          {"measured_tau", Json(ranking->measured_tau)},
          {"pairs", ranking->pairs},
          {"told_apart", ranking->told_apart},
          {"ordered_alike", ranking->ordered_alike}};
}

}  // namespace

std::string ValidationTable(const Validation& validation) {
  std::string text = fmt::format("{} cells, measured and simulated; 95 % bootstrap intervals\n\n",
                                 validation.pairs.size());
  text += ErrorTable(validation) + "\n";
  if (validation.by_makespan) text += RankingText("makespan", *validation.by_makespan);
  if (validation.by_turnaround) text += RankingText("mean turnaround", *validation.by_turnaround);
  if (!validation.by_makespan)
    text += "no ranking: there are no two policies that share a trial in both worlds\n";
  const std::string notes = Notes(validation);
  return text + (notes.empty() ? "" : "\n" + notes);
}

std::string ValidationJson(const Validation& validation) {
  nlohmann::json cells = nlohmann::json::array(), errors;
  for (const CellPair& pair : validation.pairs) {
    cells.push_back({{"run", pair.run},
                     {"policy", pair.key.policy},
                     {"elasticity", ToString(pair.key.elasticity)},
                     {"trial", pair.key.trial},
                     {"comparable", pair.Comparable()},
                     {"saturated", pair.measured.saturated},
                     {"measured", Json(pair.measured.outcome)},
                     {"simulated", Json(pair.simulated.outcome)}});
  }
  for (size_t i = 0; i < kMetrics.size(); ++i)
    errors[kMetrics[i].name] = Json(validation.absolute_error[i]);
  const nlohmann::json json = {{"cells", cells},
                               {"absolute_error", errors},
                               {"by_makespan", Json(validation.by_makespan)},
                               {"by_turnaround", Json(validation.by_turnaround)}};
  return json.dump(2) + "\n";
}

}  // namespace cosched
