#include "experiments/analysis/comparison_json.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/analysis/comparison_notes.h"
#include "experiments/analysis/gates.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/numeric_columns.h"
#include "experiments/analysis/records_integrity.h"
#include "experiments/analysis/run_effects.h"
#include "experiments/analysis/statistics.h"
#include "experiments/analysis/treatment_table.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;

// null where there are none.
Json MedianJson(const std::vector<double>& values) {
  if (values.empty()) return nullptr;
  Json json = {{"median", Median(values)}, {"values", values.size()}};
  const Interval interval = MedianInterval(values);
  if (interval.level > 0) {
    json["low"] = interval.low;
    json["high"] = interval.high;
    json["level"] = interval.level;
  }
  return json;
}

template <typename Row>
Json MediansOf(const std::vector<const Row*>& rows) {
  Json json = Json::object();
  ForEachNumericColumn<Row>([&](std::string_view name, const auto& number) {
    std::vector<double> values;
    for (const Row* row : rows)
      if (const std::optional<double> value = number(*row)) values.push_back(*value);
    json[std::string(name)] = MedianJson(values);
  });
  return json;
}

// Of the cells that a group's figures are of; without a job that finished times are 0 and mean nothing.
std::vector<const CellSummary*> SummariesOf(const CellGroup& group) {
  std::vector<const CellSummary*> summaries;
  for (const ComparedCell* cell : group.Shown()) {
    const bool none_finished = cell->summary.jobs > 0 && cell->summary.Lost() == cell->summary.jobs;
    if (!none_finished) summaries.push_back(&cell->summary);
  }
  return summaries;
}

Json ServicesOf(const std::vector<const CellSummary*>& summaries) {
  std::map<std::string, std::vector<const ServiceSummary*>> services;
  for (const CellSummary* summary : summaries)
    for (const ServiceSummary& service : summary->services)
      services[service.service].push_back(&service);
  Json json = Json::array();
  for (const auto& [name, rows] : services)
    json.push_back({{"service", name}, {"medians", MediansOf(rows)}});
  return json;
}

Json TreatmentOf(const CellGroup& group) {
  Json json = {{"policy", group.policy},
               {"elasticity", ToString(group.elasticity)},
               {"cells", group.cells.size()},
               {"failed_cells", group.failed.size()},
               {"lossy_cells", group.LossyCells()},
               {"lost_jobs", group.LostJobs()}};
  const std::vector<const CellSummary*> summaries = SummariesOf(group);
  json["medians"] = MediansOf(summaries);
  json["services"] = ServicesOf(summaries);
  return json;
}

Json EffectJson(const std::optional<TreatmentEffect>& effect, double corrected) {
  if (!effect) return nullptr;
  Json json = {{"ratio", effect->ratio}, {"paired", effect->paired}, {"trials", effect->pairs}};
  json["tested"] = effect->tested;
  if (!effect->tested) return json;
  json["low"] = effect->interval.low;
  json["high"] = effect->interval.high;
  json["level"] = effect->interval.level;
  json["p"] = effect->p;
  json["corrected_p"] = corrected;
  json["effect"] = effect->effect;
  if (effect->paired) json["wins"] = effect->wins;
  json["decided"] = IsDecided(*effect, corrected);
  return json;
}

Json RowJson(const TreatmentRow& row) {
  Json effects = Json::object();
  for (size_t m = 0; m < kComparedMetrics.size(); ++m)
    effects[kComparedMetrics[m].column] = EffectJson(row.effects[m], row.corrected[m]);
  return {{"name", row.name},
          {"lost_jobs", row.LostAny()},
          {"why_not", row.Compared() ? Json() : Json(row.WhyNot())},
          {"effects", std::move(effects)}};
}

Json QuestionOf(const TreatmentTable& table) {
  const bool policies = table.kind == TreatmentTable::Kind::kPolicies;
  Json json = {{"of", policies ? "policies" : "elasticities"},
               {"elasticity", policies ? ToString(table.elasticity) : "malleable"},
               {"base", table.base},
               {"base_is_best", table.chosen},
               {"why_none", table.why_none.empty() ? Json() : Json(table.why_none)}};
  json["comparisons"] = Json::object();
  json["rows"] = Json::array();
  json["others"] = Json::array();
  json["verdicts"] = Json::array();
  for (const TreatmentRow& row : table.rows) json["rows"].push_back(RowJson(row));
  for (const TreatmentRow& row : table.others) {
    json["others"].push_back(RowJson(row));
    json["others"].back()["against"] = row.base->policy;
  }
  for (size_t m = 0; m < kComparedMetrics.size(); ++m) {
    json["comparisons"][kComparedMetrics[m].column] = table.comparisons[m];
    for (const std::string& verdict : table.VerdictsOf(m))
      json["verdicts"].push_back({{"metric", kComparedMetrics[m].column}, {"text", verdict}});
  }
  return json;
}

Json QuestionsOf(const ComparedCells& cells, const std::string& baseline) {
  Json json = Json::array();
  for (const TreatmentTable& table : ComparePolicies(cells, baseline))
    json.push_back(QuestionOf(table));
  for (const Elasticity elasticity : cells.elasticities) {
    if (elasticity == Elasticity::kMalleable) continue;
    if (const auto table = CompareElasticities(cells, elasticity))
      json.push_back(QuestionOf(*table));
  }
  return json;
}

Json SideOf(const ComparedCells& cells, const std::vector<std::string>& first_notes,
            const ComparisonOptions& options) {
  Json runs = Json::array(), treatments = Json::array();
  for (const ComparedRun& run : cells.runs) runs.push_back(run.path.string());
  for (const CellGroup& group : cells.groups) treatments.push_back(TreatmentOf(group));
  return {{"runs", std::move(runs)},
          {"cells", cells.cells},
          {"simulated_cells", cells.simulated},
          {"trials", cells.trials},
          {"one_trace", cells.RepeatsOneTrace()},
          {"policies", cells.policies},
          {"treatments", std::move(treatments)},
          {"questions", QuestionsOf(cells, BaselineOf(cells, options))},
          {"gates", GatesJson(JudgeGates(cells))},
          {"notes", ComparisonNotes(cells, first_notes)}};
}

// b against a.
Json BetweenSides(const Comparison& comparison, size_t index) {
  const SideEffects effects =
      EffectsBetween(comparison.sides[0].cells, comparison.sides[index].cells);
  Json rows = Json::array();
  for (const SideEffect& row : effects.rows) {
    Json of_metrics = Json::object();
    for (size_t m = 0; m < kComparedMetrics.size(); ++m)
      of_metrics[kComparedMetrics[m].column] = EffectJson(row.effects[m], row.corrected[m]);
    rows.push_back({{"name", row.name},
                    {"lost_jobs", !row.losses.empty() || row.unalike},
                    {"why_not", row.not_compared.empty() ? Json() : Json(row.not_compared)},
                    {"effects", std::move(of_metrics)}});
  }
  return {{"side", SideName(index)},
          {"against", SideName(0)},
          {"comparisons", effects.comparisons},
          {"rows", std::move(rows)},
          {"not_pooled", WhyNotPooledText(comparison, index)}};
}

}  // namespace

Json ComparisonJson(const Comparison& comparison, const ComparisonOptions& options) {
  const bool alone = comparison.sides.size() == 1;
  Json json = {{"damaged", comparison.damaged}};
  json["copies"] = comparison.copies;
  json["sides"] = Json::array();
  json["between"] = Json::array();
  for (const ComparedSide& side : comparison.sides) {
    json["sides"].push_back(
        SideOf(side.cells, alone ? comparison.notes : std::vector<std::string>(), options));
  }
  for (size_t i = 1; i < comparison.sides.size(); ++i)
    json["between"].push_back(BetweenSides(comparison, i));
  json["notes"] = alone ? std::vector<std::string>() : comparison.notes;
  return json;
}

ComparedRuns CompareDocument(const FoundRuns& found, const ComparisonOptions& options) {
  ComparedRuns result;
  Json& json = result.document;
  json = {{"schema", "cosched-compare"}, {"version", 1}, {"notes", found.notes}};
  const auto compare = [&](const std::vector<std::filesystem::path>& runs) {
    const Comparison comparison = ReadComparison(runs, options);
    result.damaged |= comparison.damaged;
    std::ranges::move(GatesOfSides(comparison), std::back_inserter(result.gates));
    return ComparisonJson(comparison, options);
  };
  std::vector<std::filesystem::path> compared;
  json["comparison"] = nullptr;
  json["sweeps"] = Json::array();
  for (const std::filesystem::path& run : found.runs) {
    if (!IsSweep(run)) {
      compared.push_back(run);
      continue;
    }
    Json points = Json::array();
    for (const SweepPointFolder& point : SweepPointFolders(run)) {
      if (WholeCells(point.folder).empty()) {
        const ComparedRun lacking = ReadComparedRun(point.folder);
        result.damaged |= !CheckRecords(lacking).damages.empty();
        result.gates.push_back({lacking.Name(), JudgeGates(ReadCells({lacking}))});
        json["notes"].push_back(lacking.Name() + " has no whole cell");
        continue;
      }
      points.push_back({{"point", point.folder.lexically_relative(run).string()},
                        {"values", point.values},
                        {"comparison", compare({point.folder})}});
    }
    json["sweeps"].push_back({{"run", run.string()}, {"points", std::move(points)}});
  }
  if (!compared.empty()) json["comparison"] = compare(compared);
  return result;
}

}  // namespace cosched
