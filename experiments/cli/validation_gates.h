#pragma once
// What `cosched validate` is asked to hold: limits of how far the simulator may be off, and whether
// it keeps them. Called by that command. Pure.

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "experiments/analysis/validation.h"

namespace cosched {

struct ValidateArguments;

inline constexpr double kLargestGate = 100;  // A share: 10,000 %.

// As shares, 0.05 is 5 %.
struct ValidationLimits {
  std::map<size_t, double> max_error;         // By metric (kMetrics), of a trace;
  std::map<size_t, double> max_policy_error;  // of each policy alone.
  std::optional<double> min_tau;
  std::optional<double> max_regret;
};

// Throws InputError naming the option.
ValidationLimits ReadValidationLimits(const ValidateArguments& arguments);

struct ValidationGate {
  std::string gate;               // The option without "--": "max-error".
  std::string metric;             // Its name in kMetrics.
  std::string policy = {};        // With its elasticity; "" = of all.
  std::optional<double> value{};  // What was found; absent where there is nothing to be judged.
  double limit = 0;
  bool holds = false;
  std::string text;  // A sentence, with what makes it doubtful.
};

// In the order in which they are told.
std::vector<ValidationGate> JudgeGates(const Validation& validation,
                                       const ValidationLimits& limits);
// Of no gate, too.
bool AllHold(const std::vector<ValidationGate>& gates);

// A line each.
std::string GatesText(const std::vector<ValidationGate>& gates);
nlohmann::ordered_json GatesJson(const std::vector<ValidationGate>& gates);

}  // namespace cosched
