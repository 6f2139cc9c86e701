#pragma once
// The table of all dispatches: it drives `cosched list dispatches`, the experiment file's checks and
// the contract tests. Immutable; thread-safe.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/random.h"
#include "policies/dispatch/dispatch.h"
#include "policies/parameters.h"

namespace cosched {

struct DispatchInfo {
  std::string_view name;                       // "longest-queue"
  std::string_view summary;                    // One line.
  std::string_view source;                     // Paper and section, or "".
  std::span<const Parameter> parameters = {};  // Keys of [dispatch.<name>].
  bool needs_deadline = false;   // Every service must have an objective per request (slo_ms).
  bool needs_objective = false;  // Every service must have one of its window's mean (sla_ms).
  bool needs_expected = false;   // QueueView::expected must be known.
  // May throw InputError (key "dispatch.<name>.<parameter>") about a "text: " parameter. random: of
  // its draws, if it draws.
  std::function<std::unique_ptr<Dispatch>(const Parameters& parameters, const Random& random)>
      make = {};
};

std::span<const DispatchInfo> Dispatches();
const DispatchInfo* FindDispatch(std::string_view name);  // nullptr if there is none.
std::string DispatchNames();  // "round-robin, random, …", for messages.

// Fills in defaults. Throws InputError (key "dispatch.<name>.<parameter>") for an unknown parameter
// or a value not allowed.
std::unique_ptr<Dispatch> MakeDispatch(const DispatchInfo& info, const Parameters& parameters,
                                       const Random& random);

}  // namespace cosched
