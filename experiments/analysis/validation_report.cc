// The verdict on the simulator as text, and as JSON for its plot.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/validation.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// What the machine misses itself by.
std::string AgainRow(const Validation& validation) {
  if (!validation.again_absolute_error) return "";
  std::string text = fmt::format("{:<32}", "  of the hardware run again");
  for (const Estimate& error : *validation.again_absolute_error)
    text += fmt::format(" {:<20}", PercentText(error, false));
  return text + "\n";
}

std::string ErrorTable(const Validation& validation) {
  std::string text = fmt::format("{:<28}", "error in %, simulated : measured");
  for (const ValidatedMetric& metric : kMetrics) text += fmt::format(" {:<20}", metric.title);
  text += "  alike   level\n";
  for (const PolicyErrors& policy : validation.policies) {
    text += fmt::format("{:<32}", fmt::format("{} {}", policy.policy, ToString(policy.elasticity)));
    for (const Estimate& error : policy.error)
      text += fmt::format(" {:<20}", PercentText(error, true));
    text +=
        fmt::format(" {:>3}/{:<3} {:>6}\n", policy.alike, policy.trials, LevelText(policy.trials));
  }
  text += fmt::format("{:<32}", "mean absolute error of a trace");
  for (const Estimate& error : validation.absolute_error)
    text += fmt::format(" {:<20}", PercentText(error, false));
  const int traces = validation.absolute_error.front().samples;
  text += fmt::format(" {:>7} {:>6}\n", "", LevelText(traces));
  return text + AgainRow(validation);
}

std::string RegretText(const RankingAgreement& ranking) {
  std::string text = fmt::format(
      "\n  against policies that it tells from the choice, trusting the simulator costs {:.1f} % "
      "(mean over traces)",
      ranking.told_regret * 100);
  if (ranking.told_apart < ranking.pairs) {
    text += fmt::format("; of {} pairs no answer can be had: noise decides them",
                        ranking.pairs - ranking.told_apart);
  }
  if (ranking.no_answer > 0) {
    text += fmt::format(", in {} of {} traces that between the choice and the best",
                        ranking.no_answer, ranking.tau.samples);
  }
  return text;
}

// What the traces can say of each pair of policies.
std::string PairsText(const RankingAgreement& ranking) {
  if (!Decides(ranking.tau)) {
    return fmt::format("the hardware can tell no two policies apart: that takes {} traces",
                       kTrialsThatDecide);
  }
  const double level = MedianLevel(ranking.tau.samples);
  return fmt::format(
             "the hardware tells {} of {} pairs of policies apart (each at {}; about {:.2g} of {} "
             "equal "
             "pairs would be by chance), and the simulator orders {} of these alike",
             ranking.told_apart, ranking.pairs, LevelText(ranking.tau.samples),
             (1 - level) * ranking.pairs, ranking.pairs, ranking.ordered_alike) +
         RegretText(ranking);
}

std::string RankingText(const char* metric, const RankingAgreement& ranking) {
  const int traces = ranking.tau.samples;
  std::string text = fmt::format(
      "by {}, in one trace: Kendall's tau {}, level {}; the winner agrees in {} of {}; trusting "
      "the simulator costs {} %, mean {:.1f} %\n  means over all traces: tau {:.2f}",
      metric, NumberText(ranking.tau), LevelText(traces), ranking.winner_agrees, traces,
      PercentText(ranking.regret, false), ranking.mean_regret * 100, ranking.tau_of_means);
  if (ranking.measured_tau) {
    text +=
        fmt::format("; the hardware against itself, half of the traces against the others: {:.2f}",
                    *ranking.measured_tau);
  }
  return text + "\n  " + PairsText(ranking) + "\n";
}

// What is not the model's error, or not only.
std::vector<std::string> ValidationNotes(const Validation& validation) {
  std::vector<std::string> notes;
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
    notes.push_back(fmt::format(
        "NOT COMPARED, {}: {}: measured: {}; simulated: {}",
        alike ? "both ended without an outcome" : "only one side has an outcome",
        ToString(pair.key), pair.measured.problem.empty() ? "done" : pair.measured.problem,
        pair.simulated.problem.empty() ? "done" : pair.simulated.problem));
  }
  const size_t all = validation.pairs.size();
  if (saturated_both > 0) {
    notes.push_back(
        fmt::format("saturated in both worlds: {} of {} cells: more work arrived than the cores "
                    "can do, so turnaround grows with the length of the trace, and an error of "
                    "speed with it",
                    saturated_both, all));
  }
  if (saturated_one > 0) {
    notes.push_back(
        fmt::format("saturated in one world only: {} of {} cells: near saturation a small error "
                    "of speed is a large one of turnaround",
                    saturated_one, all));
  }
  for (const auto& [mark, cells] : marks)
    notes.push_back(fmt::format("MARKED: {} ({} of {} cells)", mark, cells, all));
  // Fewest trials of the rows above; each has an interval of its own.
  int fewest = validation.absolute_error.front().samples;
  for (const PolicyErrors& policy : validation.policies) fewest = std::min(fewest, policy.trials);
  if (fewest > 0 && fewest < kTrialsThatDecide) {
    notes.push_back(
        fewest == 1
            ? fmt::format("FEW TRACES: 1 has no interval; {} have one of 95 % or more",
                          kTrialsThatDecide)
            : fmt::format("FEW TRACES: the range of {} holds the true median with {}, not with "
                          "95 %; that takes {}",
                          fewest, LevelText(fewest), kTrialsThatDecide));
  }
  return notes;
}

Json ToJson(const CellFigures& outcome) {
  Json json;
  for (const ValidatedMetric& metric : kMetrics) json[metric.name] = outcome.*metric.value;
  return json;
}

Json ToJson(const Estimate& estimate) {
  return {{"value", estimate.value},
          {"low", estimate.low},
          {"high", estimate.high},
          {"level", MedianLevel(estimate.samples)},
          {"trials", estimate.samples}};
}

Json ToJson(const std::optional<RankingAgreement>& ranking) {
  if (!ranking) return nullptr;
  return {{"tau", ToJson(ranking->tau)},
          {"tau_of_means", ranking->tau_of_means},
          {"winner_agrees", ranking->winner_agrees},
          {"regret", ToJson(ranking->regret)},
          {"mean_regret", ranking->mean_regret},
          {"told_regret", ranking->told_regret},
          {"no_answer", ranking->no_answer},
          {"measured_tau", ranking->measured_tau ? Json(*ranking->measured_tau) : nullptr},
          {"pairs", ranking->pairs},
          {"told_apart", ranking->told_apart},
          {"ordered_alike", ranking->ordered_alike}};
}

Json ToJson(const ServiceFigures& figures) {
  return {{"mean_ms", figures.mean_ms},
          {"p50_ms", figures.p50_ms},
          {"p95_ms", figures.p95_ms},
          {"inside_ms", figures.inside_ms},
          {"per_second", figures.per_second},
          {"violated", figures.violated ? Json(*figures.violated) : nullptr}};
}

Json ToJson(const std::array<Estimate, kMetrics.size()>& errors) {
  Json json = Json::object();
  for (size_t i = 0; i < kMetrics.size(); ++i) json[kMetrics[i].name] = ToJson(errors[i]);
  return json;
}

Json ToJson(const std::vector<PolicyErrors>& policies) {
  Json json = Json::array();
  for (const PolicyErrors& policy : policies) {
    json.push_back({{"policy", policy.policy},
                    {"elasticity", ToString(policy.elasticity)},
                    {"trials", policy.trials},
                    {"decided_alike", policy.alike},
                    {"error", ToJson(policy.error)}});
  }
  return json;
}

Json KeyOf(int run, const CellKey& key) {
  return {{"run", run},
          {"policy", key.policy},
          {"elasticity", ToString(key.elasticity)},
          {"trial", key.trial}};
}

Json ToJson(const std::optional<ServiceAgreement>& agreement) {
  if (!agreement) return nullptr;
  Json services = Json::array(), granted = Json::array();
  for (const ServicePair& pair : agreement->services) {
    services.push_back(KeyOf(pair.run, pair.key));
    services.back()["service"] = pair.service;
    services.back()["measured"] = ToJson(pair.measured);
    services.back()["simulated"] = ToJson(pair.simulated);
  }
  for (const GrantedPair& pair : agreement->granted) {
    granted.push_back(KeyOf(pair.run, pair.key));
    granted.back()["measured"] = pair.measured;
    granted.back()["simulated"] = pair.simulated;
  }
  return {{"services", services},
          {"granted", granted},
          {"response_error", ToJson(agreement->response_error)},
          {"median_error", ToJson(agreement->median_error)},
          {"throughput_error", ToJson(agreement->throughput_error)},
          {"violation_difference", ToJson(agreement->violation_difference)},
          {"granted_error", ToJson(agreement->granted_error)},
          {"by_violations", ToJson(agreement->by_violations)},
          {"by_granted", ToJson(agreement->by_granted)}};
}

}  // namespace

std::string ValidationTable(const Validation& validation) {
  std::string text = fmt::format(
      "{} cells, measured and simulated; a trace gives one number; median over traces [interval], "
      "and "
      "the level with which it holds the true median\n\n",
      validation.pairs.size());
  const bool jobs = std::ranges::any_of(validation.pairs, &CellPair::HasJobs);
  if (jobs) text += ErrorTable(validation) + "\n";
  if (validation.by_makespan) text += RankingText("makespan", *validation.by_makespan);
  if (validation.by_turnaround) text += RankingText("mean turnaround", *validation.by_turnaround);
  if (jobs && !validation.by_makespan)
    text += "no ranking: there are no two policies that share a trial in both worlds\n";
  const std::vector<std::string> notes = ValidationNotes(validation);
  if (!notes.empty()) text += "\n";
  for (const std::string& note : notes) text += "  * " + note + "\n";
  return text + (validation.services ? ServiceValidationTable(*validation.services) : "");
}

Json ValidationJson(const Validation& validation) {
  Json cells = Json::array();
  for (const CellPair& pair : validation.pairs) {
    const auto problem = [](const CellOutcome& outcome) {
      return outcome.problem.empty() ? Json() : Json(outcome.problem);
    };
    cells.push_back(KeyOf(pair.run, pair.key));
    cells.back()["comparable"] = pair.Comparable();
    cells.back()["decided_alike"] = pair.decided_alike;
    cells.back()["saturated"] = pair.measured.saturated;
    cells.back()["measured"] = ToJson(pair.measured.outcome);
    cells.back()["simulated"] = ToJson(pair.simulated.outcome);
    cells.back()["measured_problem"] = problem(pair.measured);
    cells.back()["simulated_problem"] = problem(pair.simulated);
    cells.back()["measured_marks"] = pair.measured.marks;
    cells.back()["simulated_marks"] = pair.simulated.marks;
  }
  return {{"cells", std::move(cells)},
          {"policies", ToJson(validation.policies)},
          {"absolute_error", ToJson(validation.absolute_error)},
          {"again", ToJson(validation.again)},
          {"again_absolute_error",
           validation.again_absolute_error ? ToJson(*validation.again_absolute_error) : Json()},
          {"by_makespan", ToJson(validation.by_makespan)},
          {"by_turnaround", ToJson(validation.by_turnaround)},
          {"services", ToJson(validation.services)},
          {"notes", ValidationNotes(validation)}};
}

}  // namespace cosched
