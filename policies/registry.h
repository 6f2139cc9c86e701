#pragma once
// The table of all policies: it drives `cosched list policies`, the experiment file's checks, the
// contract tests and the plots. Immutable; thread-safe.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "policies/parameters.h"
#include "policies/policy.h"

namespace cosched {

using PolicyParameter = Parameter;  // Its name: key of [policy.<name>] in an experiment file.
using PolicyParameters = Parameters;

struct PolicyInfo {
  std::string_view name;     // "max-prop"
  std::string_view summary;  // One line.
  std::string_view source;   // Paper and section, or "".
  std::span<const PolicyParameter> parameters = {};
  bool oversubscribes =
      false;                 // May grant a core twice; exempt from the exclusive-owner invariant.
  bool needs_speed = false;  // Job::speed must be known of every job.
  bool shares = false;       // Grants shares of cores (policies/policy.h: Share).
  // Wants to be asked when a grant has settled. One that would change nothing then says no, which
  // saves most of its decisions.
  bool on_settled = true;
  bool needs_objective = false;  // Every service must have one (ServiceView::objective).
  bool needs_size = false;       // Job::steps must be known of every job, so none may be a service.
  // May throw InputError (key "policy.<name>.<parameter>") about a "text: " parameter.
  std::function<std::unique_ptr<Policy>(const PolicyParameters& parameters)> make = {};
};

std::span<const PolicyInfo> Policies();
const PolicyInfo* FindPolicy(std::string_view name);  // nullptr if there is none.
std::string PolicyNames();  // "no-control, static-partition, …", for messages.

// Fills in defaults. Throws InputError (key "policy.<name>.<parameter>") for an unknown parameter
// or a value not allowed.
std::unique_ptr<Policy> MakePolicy(const PolicyInfo& info, const PolicyParameters& parameters);

}  // namespace cosched
