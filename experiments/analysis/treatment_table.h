#pragma once
// Treatments set against each other trial by trial, as data: every policy against one of them, and
// malleable tenants against those of another class. Pure; what the tables of a comparison, its JSON
// and the report tell is of these.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/comparison_cells.h"
#include "experiments/analysis/paired_effects.h"

namespace cosched {

struct ComparedMetric {
  const char* name;    // In sentences.
  const char* column;  // Of summary.csv.
  double CellSummary::*value;
};
inline constexpr std::array kComparedMetrics = {
    ComparedMetric{"makespan", "makespan_s", &CellSummary::makespan_s},
    ComparedMetric{"mean turnaround", "mean_turnaround_s", &CellSummary::mean_turnaround_s}};

// A treatment against its base, by each metric.
struct TreatmentRow {
  std::string name;
  std::string subject;  // A sentence's: "equal-share", "malleable under strict".
  const CellGroup* group = nullptr;
  const CellGroup* base = nullptr;
  std::array<std::optional<TreatmentEffect>, kComparedMetrics.size()> effects = {};
  std::array<double, kComparedMetrics.size()> corrected = {1,
                                                           1};  // p, for the table's comparisons.

  bool Compared() const { return effects[0].has_value(); }
  bool LostAny() const;        // The treatment or its base lost a job, or each of its cells failed.
  std::string WhyNot() const;  // REQUIRES: not Compared().
};

// One question: rows of it are one family of tests.
struct TreatmentTable {
  enum class Kind {
    kPolicies,      // Policies of one elasticity against one of them.
    kElasticities,  // Malleable tenants under each policy against those of `elasticity` under it.
  };
  Kind kind = Kind::kPolicies;
  Elasticity elasticity = Elasticity::kMalleable;
  std::string base;  // The policy, or the class.
  bool chosen =
      false;  // The base has the lowest median makespan: corrected for all pairs, since the
              // data chose.
  std::vector<TreatmentRow> rows = {};
  std::vector<TreatmentRow> others = {};  // Where the base is chosen: all pairs without it.
  std::array<size_t, kComparedMetrics.size()> comparisons = {};  // That p is corrected for.
  std::string why_none = {};  // Nothing is compared, so there are no rows; else "".

  // What is decided and what is not, a sentence each (Verdicts, paired_effects.h).
  std::vector<std::string> VerdictsOf(size_t metric) const;
};

// In each elasticity, every policy against `baseline`, or where that is empty against the one with
// the lowest median makespan of those that lost no job. None of an elasticity with one policy, nor
// where no job is. They point into `cells`. Throws InputError (key --baseline) if it is none of the
// policies.
std::vector<TreatmentTable> ComparePolicies(const ComparedCells& cells,
                                            const std::string& baseline);

// nullopt if no policy has cells of both, or no job is.
std::optional<TreatmentTable> CompareElasticities(const ComparedCells& cells, Elasticity other);

}  // namespace cosched
