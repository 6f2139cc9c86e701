#pragma once
// All that a report shows, as JSON: the comparison (comparison_json.h), and of every run what it was, where
// and of what program, its claims with verdicts, and every cell with its metrics, marks, jobs and grants.
// Reads files only; called by `cosched report`.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/analysis/comparison.h"

namespace cosched {

struct ReportOptions {
  ComparisonOptions comparison = {};
  std::filesystem::path folder;   // Of the page: links to records lead from there.
  std::string command = {};       // That makes the report.
  int most_shown_rows = 200'000;  // Of jobs and grants of all cells; later trials are without.
};

// {"command", "policies", "sections", "runs"}. A section is a comparison: one of all runs that are no sweeps, and one
// of each point of a sweep; "runs" of it are places in the list of runs, of which a sweep's points are some.
// Throws InputError as CompareRuns.
nlohmann::ordered_json ReportData(const std::vector<std::filesystem::path>& runs,
                                  const ReportOptions& options);

}  // namespace cosched
