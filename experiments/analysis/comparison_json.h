#pragma once
// A comparison as data, for programs: what `cosched compare --json` prints and `cosched run --json`
// holds, which experiments/schemas/compare.schema.json describes. Reads files only.

#include <nlohmann/json.hpp>
#include <vector>

#include "experiments/analysis/compared_sides.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/gates.h"

namespace cosched {

// Medians are of all numeric columns of summary.csv, and of services.csv by service; every question
// has its rows and its sentences. Throws InputError if the baseline is no policy.
nlohmann::ordered_json ComparisonJson(const Comparison& comparison,
                                      const ComparisonOptions& options);

// What is no sweep compared, and every point of a sweep by itself.
struct ComparedRuns {
  nlohmann::ordered_json document;
  bool damaged = false;  // Records are.
  std::vector<JudgedGates> gates;
};

// Throws InputError as ReadComparison and ComparisonJson.
ComparedRuns CompareDocument(const FoundRuns& found, const ComparisonOptions& options);

}  // namespace cosched
