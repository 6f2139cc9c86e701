#include "experiments/analysis/baseline_table.h"

#include <fmt/format.h>

#include <vector>

#include "experiments/analysis/paired_effects.h"
#include "experiments/analysis/table_text.h"

namespace cosched {
namespace {

std::string RowsText(const TreatmentTable& table, size_t width) {
  std::string text(width + 2, ' ');
  for (const ComparedMetric& metric : kComparedMetrics) text += " " + EffectTitle(metric.name);
  text += '\n';
  for (const TreatmentRow& row : table.rows) {
    const bool none = !row.Compared();
    std::string line =
        fmt::format("{}{:<{}}", row.LostAny() || none ? "! " : "  ", row.name, width);
    for (size_t m = 0; m < kComparedMetrics.size() && !none; ++m)
      line += " " + EffectText(row.effects[m], row.corrected[m]);
    if (none) line += " NOT COMPARED: " + row.WhyNot();
    text += Trimmed(line) + "\n";
  }
  for (size_t m = 0; m < kComparedMetrics.size(); ++m) {
    for (const std::string& verdict : table.VerdictsOf(m))
      text += Wrapped("   ", fmt::format("{}: {}", kComparedMetrics[m].name, verdict));
  }
  return text;
}

void AddPairs(const TreatmentTable& table, std::set<int>* pairs) {
  for (const TreatmentRow& row : table.rows)
    for (const auto& effect : row.effects)
      if (effect) pairs->insert(effect->tested ? effect->pairs : 1);
}

// "; p corrected for 2 comparisons"; "" of one.
std::string CorrectedText(const TreatmentTable& table) {
  if (table.comparisons[0] <= 1) return "";
  return fmt::format(
      "; p corrected for {}{}", table.chosen ? "all " : "",
      Counted(static_cast<int64_t>(table.comparisons[0]), table.chosen ? "pair" : "comparison"));
}

std::string PoliciesText(const TreatmentTable& table, size_t width) {
  if (!table.why_none.empty()) {
    return fmt::format("\n{}: {}: none is compared\n", ToString(table.elasticity), table.why_none);
  }
  const std::string title =
      fmt::format("{}: each policy against {}{}{}", ToString(table.elasticity), table.base,
                  table.chosen ? ", the lowest median makespan" : "", CorrectedText(table));
  return "\n" + Wrapped("", title) + RowsText(table, width);
}

}  // namespace

std::string BaselineTables(const ComparedCells& cells, const std::string& baseline,
                           std::set<int>* pairs) {
  std::string text;
  for (const TreatmentTable& table : ComparePolicies(cells, baseline)) {
    text += PoliciesText(table, cells.NameWidth());
    AddPairs(table, pairs);
  }
  return text;
}

std::string ElasticityTable(const ComparedCells& cells, Elasticity other, std::set<int>* pairs) {
  const std::optional<TreatmentTable> table = CompareElasticities(cells, other);
  if (!table) return "";
  AddPairs(*table, pairs);
  return fmt::format("\nmalleable against {}, policy by policy{}\n", ToString(other),
                     CorrectedText(*table)) +
         RowsText(*table, cells.NameWidth());
}

std::string EffectLegend(const std::set<int>& pairs) {
  if (pairs.empty()) return "";
  return "\n" +
         Wrapped("",
                 fmt::format(
                     "Ratios are trial by trial, of the same arrivals: median{}, below 1 = "
                     "shorter. p: signed ranks of their logarithms, corrected by Holm. effect: "
                     "their rank correlation, -1 = always shorter. wins: trials in which it was "
                     "shorter.",
                     LevelsText(pairs)));
}

}  // namespace cosched
