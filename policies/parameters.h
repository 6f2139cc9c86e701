#pragma once
// Parameters of plug-ins (policies/registry.h, policies/dispatch/dispatches.h): what there are, and
// checking what an experiment file gives. Thread-safe.

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/cpu_share.h"

namespace cosched {

struct Parameter {
  std::string_view name;
  std::string_view default_value;
  // Alternatives, checked by Completed: words, "integer" or "number" with bounds (">= 1", "> 0 and
  // < 1"), e.g. "auto | integer >= 1"; or, as the last one, "text: <its form>", which the plug-in's
  // factory checks.
  std::string_view allowed;
  std::string_view help;
};

// Values as text by parameter name.
using Parameters = std::map<std::string, std::string, std::less<>>;

// What is given, and the defaults of the rest. owner: "policy.<name>". Throws InputError (key
// "<owner>.<parameter>") for an unknown parameter or a value not allowed.
Parameters Completed(std::string_view owner, std::span<const Parameter> known,
                     const Parameters& given);

// For factories. REQUIRES: Completed has let the value through as a number (an integer).
double NumberOf(const Parameters& parameters, std::string_view name);
CpuShare ShareOf(const Parameters& parameters, std::string_view name);  // Given in cores.
int IntegerOf(const Parameters& parameters, std::string_view name);

}  // namespace cosched
