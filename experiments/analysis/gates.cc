#include "experiments/analysis/gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "experiments/analysis/estimate.h"
#include "experiments/analysis/markup.h"
#include "experiments/analysis/table_text.h"
#include "experiments/analysis/trial_metric.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

std::string FourDigits(double value) { return fmt::format("{:.4g}", value); }

// "at least 0.99", "0.9 to 1.1".
std::string LimitsText(const GateConfig& gate) {
  if (gate.min && gate.max) return fmt::format("{:.6g} to {:.6g}", *gate.min, *gate.max);
  return gate.min ? fmt::format("at least {:.6g}", *gate.min)
                  : fmt::format("at most {:.6g}", *gate.max);
}

std::string WhatOf(const GateConfig& gate) {
  std::string text = fmt::format("{}/{}", gate.policy, ToString(*gate.elasticity));
  if (!gate.service.empty()) text += " " + gate.service;
  text += ": " + gate.metric;
  if (!gate.against.empty()) text += fmt::format(" / that of {}", gate.against);
  return text + " " + LimitsText(gate);
}

bool IsWithin(const GateConfig& gate, double value) {
  return (!gate.min || value >= *gate.min) && (!gate.max || value <= *gate.max);
}

bool IsBeyond(const GateConfig& gate, const Interval& interval) {
  return (gate.min && interval.high < *gate.min) || (gate.max && interval.low > *gate.max);
}

// "" if nothing is. counts_jobs: of a metric that counts what cells lost, and needs the whole ones.
std::string OwnLosses(const CellGroup& group, bool counts_jobs) {
  std::vector<std::string> lost;
  if (!group.failed.empty())
    lost.push_back(Counted(static_cast<int64_t>(group.failed.size()), "cell") + " failed");
  if (group.LossyCells() > 0 && !counts_jobs) {
    lost.push_back(fmt::format("{} of {} lost {}", group.LossyCells(),
                               Counted(static_cast<int64_t>(group.cells.size()), "trial"),
                               Counted(group.LostJobs(), "job")));
  }
  return fmt::format("{}", fmt::join(lost, ", "));
}

// What a gate is judged by.
struct GateData {
  std::vector<double> values;
  std::string lacking;  // Why there are none.
};

GateData DataOf(const ComparedCells& cells, const GateConfig& gate, const TrialMetric& metric) {
  const CellGroup* group = cells.Find(gate.policy, *gate.elasticity);
  if (group == nullptr) return {{}, gate.policy + " has no cell"};
  if (std::string loss = OwnLosses(*group, metric.counts_jobs); !loss.empty())
    return {{}, std::move(loss)};
  const TrialValues values = ValuesByTrial(*group, metric, gate.service);
  GateData data;
  if (gate.against.empty()) {
    for (const auto& [trial, value] : values) data.values.push_back(value);
    if (data.values.empty()) data.lacking = "no trial has a " + metric.column;
    return data;
  }
  const CellGroup* base = cells.Find(gate.against, *gate.elasticity);
  if (base == nullptr) return {{}, gate.against + " has no cell"};
  data.values = TrialRatios(values, ValuesByTrial(*base, metric, gate.service));
  if (data.values.empty()) data.lacking = fmt::format("no trial has a {} of both", metric.column);
  return data;
}

// metric: nothing where another version of cosched had it.
JudgedGate JudgeByMetric(const ComparedCells& cells, const GateConfig& gate,
                         const std::optional<TrialMetric>& metric, double level) {
  JudgedGate judged{.gate = gate, .what = WhatOf(gate)};
  const GateData data = metric ? DataOf(cells, gate, *metric)
                               : GateData{{}, "this version of cosched has no such metric"};
  judged.trials = static_cast<int>(data.values.size());
  if (data.values.empty()) {
    judged.reason = data.lacking;
    return judged;
  }
  judged.estimate = Median(data.values);
  judged.interval = MedianInterval(data.values, level);
  judged.passes = IsWithin(gate, *judged.estimate);
  judged.verdict = GateVerdict::kUndecided;
  if (judged.interval.level < level) {
    judged.reason = fmt::format("{} cannot decide", Counted(judged.trials, "trial"));
  } else if (IsBeyond(gate, judged.interval)) {
    judged.verdict = GateVerdict::kFails;
  } else if (IsWithin(gate, judged.interval.low) && IsWithin(gate, judged.interval.high)) {
    judged.verdict = GateVerdict::kHolds;
  } else {
    judged.reason = "its interval reaches beyond the limit: more trials would decide";
    if (!judged.passes)
      judged.reason = "its interval reaches within the limit: more trials would decide";
  }
  return judged;
}

// Each gate of the runs once.
std::vector<GateConfig> GatesOf(const std::vector<ComparedRun>& runs) {
  std::vector<GateConfig> gates;
  for (const ComparedRun& run : runs) {
    for (const GateConfig& gate : run.gates)
      if (std::find(gates.begin(), gates.end(), gate) == gates.end()) gates.push_back(gate);
  }
  return gates;
}

// "0.905 [0.831 0.933], 8 trials: 99.2 %".
std::string EstimateText(const JudgedGate& judged) {
  if (!judged.estimate) return "no data";
  if (judged.trials < 2) return FourDigits(*judged.estimate) + ", 1 trial";
  return fmt::format("{} [{} {}], {} trials: {}", FourDigits(*judged.estimate),
                     FourDigits(judged.interval.low), FourDigits(judged.interval.high),
                     judged.trials, LevelPercent(judged.interval.level));
}

// "undecided, passes".
std::string VerdictText(const JudgedGate& judged) {
  if (judged.verdict != GateVerdict::kUndecided)
    return judged.passes ? ToString(judged.verdict) : "FAILS";
  return judged.passes ? "undecided, passes" : "undecided, FAILS";
}

std::string ReasonText(const JudgedGate& judged) {
  return judged.reason.empty() ? EstimateText(judged)
                               : fmt::format("{}: {}", EstimateText(judged), judged.reason);
}

std::string TestCase(const std::string& suite, const JudgedGate& judged) {
  std::string text = fmt::format(R"(    <testcase classname="{}" name="{}")", EscapedMarkup(suite),
                                 EscapedMarkup(judged.what));
  const std::string told = EscapedMarkup(ReasonText(judged));
  if (judged.passes && judged.verdict == GateVerdict::kHolds)
    return text + fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", told);
  const char* const element = judged.passes ? "skipped" : "failure";
  return text + fmt::format(">\n      <{} message=\"{}: {}\"/>\n    </testcase>\n", element,
                            VerdictText(judged), told);
}

}  // namespace

const char* ToString(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kHolds: return "holds";
    case GateVerdict::kFails: return "fails";
    case GateVerdict::kUndecided: return "undecided";
  }
  return "?";
}

std::vector<JudgedGate> JudgeGates(const ComparedCells& cells) {
  double level = kLevelThatDecides;
  // Also those of which no cell is there, or is left: their gates fail.
  std::set<Elasticity> planned(cells.elasticities.begin(), cells.elasticities.end());
  for (const ComparedRun& run : cells.runs) {
    level = std::max(level, run.LevelOfIntervals());
    for (const CellKey& key : run.planned) planned.insert(key.elasticity);
  }
  std::vector<JudgedGate> judged;
  for (GateConfig gate : GatesOf(cells.runs)) {
    const std::optional<TrialMetric> metric = FindTrialMetric(gate.metric);
    if (metric) gate.metric = metric->column;
    std::set<Elasticity> elasticities = planned;
    if (gate.elasticity) elasticities = {*gate.elasticity};
    for (const Elasticity elasticity : elasticities) {
      gate.elasticity = elasticity;
      const CellGroup* group = cells.Find(gate.policy, elasticity);
      std::vector<std::string> services = {gate.service};
      if (gate.service.empty() && group != nullptr && metric)
        services = ServicesWith(*group, *metric);
      if (services.empty()) services = {""};  // Nothing of a service: there are no data.
      GateConfig one = gate;
      for (const std::string& service : services) {
        one.service = service;
        judged.push_back(JudgeByMetric(cells, one, metric, level));
      }
    }
  }
  return judged;
}

bool AnyGateFails(const std::vector<JudgedGates>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const JudgedGates& run) {
    return std::any_of(run.gates.begin(), run.gates.end(),
                       [](const JudgedGate& gate) { return !gate.passes; });
  });
}

bool HasGates(const std::vector<JudgedGates>& runs) {
  return std::any_of(runs.begin(), runs.end(),
                     [](const JudgedGates& run) { return !run.gates.empty(); });
}

std::string GatesText(const std::vector<JudgedGates>& runs) {
  std::string text;
  for (const JudgedGates& run : runs) {
    for (const JudgedGate& gate : run.gates) {
      text += Wrapped(gate.passes ? "  gate" : "! gate",
                      fmt::format("{}{}: {}: {}", runs.size() > 1 ? run.name + " " : "", gate.what,
                                  VerdictText(gate), ReasonText(gate)));
    }
  }
  return text;
}

Json GatesJson(const std::vector<JudgedGate>& gates) {
  Json all = Json::array();
  const auto limit = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  const auto bounded = [](double value) { return std::isinf(value) ? Json() : Json(value); };
  const auto text = [](const std::string& name) { return name.empty() ? Json() : Json(name); };
  for (const JudgedGate& judged : gates) {
    Json json = {{"metric", judged.gate.metric},
                 {"policy", judged.gate.policy},
                 {"elasticity", ToString(*judged.gate.elasticity)},
                 {"service", text(judged.gate.service)},
                 {"against", text(judged.gate.against)},
                 {"min", limit(judged.gate.min)},
                 {"max", limit(judged.gate.max)},
                 {"verdict", ToString(judged.verdict)},
                 {"passes", judged.passes},
                 {"trials", judged.trials},
                 {"estimate", judged.estimate ? bounded(*judged.estimate) : Json()},
                 {"reason", text(judged.reason)}};
    if (judged.interval.level > 0) {
      json["low"] = bounded(judged.interval.low);
      json["high"] = bounded(judged.interval.high);
      json["level"] = judged.interval.level;
    }
    all.push_back(std::move(json));
  }
  return all;
}

std::string JUnitText(const std::vector<JudgedGates>& runs) {
  std::string suites;
  size_t all = 0, all_failed = 0;
  for (const JudgedGates& run : runs) {
    std::string cases;
    size_t failed = 0, skipped = 0;
    for (const JudgedGate& gate : run.gates) {
      cases += TestCase(run.name, gate);
      failed += !gate.passes;
      skipped += gate.passes && gate.verdict != GateVerdict::kHolds;
    }
    suites += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">\n{}"
        "  </testsuite>\n",
        EscapedMarkup(run.name), run.gates.size(), failed, skipped, cases);
    all += run.gates.size();
    all_failed += failed;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cosched\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\">\n{}</testsuites>\n",
      all, all_failed, suites);
}

}  // namespace cosched
