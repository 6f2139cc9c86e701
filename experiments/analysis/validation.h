#pragma once
// How far the simulator can be trusted: the cells of a run on hardware beside those of the same
// experiment simulated. Errors by policy, agreement over policies (experiments/analysis/ranking.h),
// and what is no model's fault told apart from what is. Pure but for reading files; called by
// `cosched validate`.

#include <array>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/analysis/ranking.h"
#include "experiments/analysis/service_validation.h"
#include "experiments/analysis/validation_runs.h"
#include "experiments/records/cell_records.h"

namespace cosched {

// What is compared of a cell; the order of kMetrics.
struct CellFigures {
  double makespan_s = 0;
  double turnaround_s = 0;  // Mean over finished jobs.
  double p95_turnaround_s = 0;
  double jobs_per_hour = 0;
  double core_seconds = 0;  // CPU time granted, all jobs together (granted_time.h).
};
struct ValidatedMetric {
  const char* name;  // The name in --max-error.
  const char* title;
  double CellFigures::*value;
};
inline constexpr std::array<ValidatedMetric, 5> kMetrics = {{
    {"makespan", "makespan", &CellFigures::makespan_s},
    {"turnaround", "turnaround", &CellFigures::turnaround_s},
    {"p95", "p95 turnaround", &CellFigures::p95_turnaround_s},
    {"throughput", "jobs/h", &CellFigures::jobs_per_hour},
    {"core-seconds", "core-seconds", &CellFigures::core_seconds},
}};

// One cell in one world.
struct CellOutcome {
  CellFigures outcome;
  std::string problem;     // Why it can't be compared: it failed, never drained, or lost jobs. "" =
                           // it can.
  bool has_jobs = false;   // Beside services, whose times are those of their requests.
  bool saturated = false;  // More work arrived than its cores can do while jobs arrived.
  std::vector<std::string> marks;
};

struct CellPair {
  int run = 0;  // Index of the experiment, of those validated together.
  CellKey key;
  CellOutcome measured, simulated;
  // Cells in which all decisions were alike.
  bool decided_alike = false;

  bool Comparable() const { return measured.problem.empty() && simulated.problem.empty(); }
  bool HasJobs() const { return measured.has_jobs || simulated.has_jobs; }
  // Simulated over measured, less 1.
  double Error(const ValidatedMetric& metric) const;
};

struct PolicyErrors {
  std::string policy;
  Elasticity elasticity = Elasticity::kMalleable;
  int trials = 0;
  int alike = 0;                                // In which all decisions were.
  std::array<Estimate, kMetrics.size()> error;  // Signed error of one trace.
};

struct Validation {
  std::vector<CellPair> pairs;
  std::vector<PolicyErrors> policies;
  std::array<Estimate, kMetrics.size()> absolute_error;  // Error of one trace: the mean
                                                         // over its cells.
  // By makespan and by mean turnaround, over the trials that have all policies; empty if there is
  // none, or only one policy, or no job.
  std::optional<RankingAgreement> by_makespan, by_turnaround;
  std::optional<ServiceAgreement> services;  // SumUp leaves it out.
  // The same runs on hardware once more, as if they had been simulated: what this machine itself
  // misses by. Empty if they were not repeated.
  std::vector<PolicyErrors> again;
  std::optional<std::array<Estimate, kMetrics.size()>> again_absolute_error;
};

// The outcome of a whole cell. Throws InputError as Summarize does.
CellOutcome ReadOutcome(const std::filesystem::path& run, const CellKey& key);

// Cells that only one of the two runs has are left out. Throws InputError if they have none in
// common.
Validation Validate(const std::vector<ValidationRuns>& runs);

// Sets what the hardware misses itself by. again: `simulated` is a second run on hardware.
void AddAgain(const std::vector<ValidationRuns>& again, Validation* validation);

// All of `validation` but its pairs, from these. Validate does it.
void SumUp(Validation* validation);

std::string ValidationTable(const Validation& validation);
// validation.json, for plots/validate.py, and a member of what `cosched validate --json` prints:
// experiments/schemas/validate.schema.json.
nlohmann::ordered_json ValidationJson(const Validation& validation);

}  // namespace cosched
