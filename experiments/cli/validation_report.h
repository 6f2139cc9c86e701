#pragma once
// What `cosched validate` has found, as text and as JSON: which runs were held against each other,
// how far they agree, and what holds. Reads the runs' files. Called by that command.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/decision_diff.h"
#include "experiments/analysis/step_validation.h"
#include "experiments/analysis/validation.h"
#include "experiments/cli/validation_gates.h"

namespace cosched {

// Two runs of which the cells were compared.
struct ValidatedRuns {
  ValidationRuns runs;
  uint64_t seed = 0;
  bool one_trace = false;  // Every trial replays the same arrivals.
};

// The cell in which the worlds part after the fewest decisions.
struct EarliestDifference {
  ValidationRuns runs;
  CellKey key;
  DecisionDiff diff;
};

struct ValidationReport {
  std::vector<ValidatedRuns> runs;
  Validation validation;
  std::vector<StepTimes> steps;
  std::optional<EarliestDifference> difference;  // Empty: all decisions are alike.
  std::vector<ValidationGate> gates;
};

// again: the hardware's runs beside its second ones; empty if it did not run again. Throws
// InputError as Validate.
ValidationReport MakeValidationReport(const std::vector<ValidationRuns>& runs,
                                      const std::vector<ValidationRuns>& again,
                                      const ValidationLimits& limits);

std::string ValidationReportText(const ValidationReport& report);
// The document that experiments/schemas/validate.schema.json describes.
nlohmann::ordered_json ValidationReportJson(const ValidationReport& report, int exit_code);

// By trial: all that was drawn for it.
nlohmann::json TracesOf(const std::filesystem::path& run);

}  // namespace cosched
