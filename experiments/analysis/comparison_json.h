#pragma once
// A comparison as data, for programs: the main part of what `cosched compare --json` prints, which
// experiments/schemas/compare.schema.json describes. Pure.

#include <nlohmann/json_fwd.hpp>

#include "experiments/analysis/compared_sides.h"

namespace cosched {

// Of all that the command prints. A member that would mean something else than before gets another
// name; who reads version 1 goes on to be right until the number changes.
inline constexpr const char* kCompareSchema = "cosched-compare/1";

// Medians are of all numeric columns of summary.csv, and of services.csv by service; every question
// has its rows and its sentences. Throws InputError if the baseline is no policy.
nlohmann::ordered_json ComparisonJson(const Comparison& comparison,
                                      const ComparisonOptions& options);

}  // namespace cosched
