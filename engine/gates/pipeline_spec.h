#pragma once
// What a pipeline is made of: stages between gates, and how many requests may be between which of
// them. Plain data; Check() is for whoever takes a specification from a user.

#include <string>
#include <string_view>
#include <vector>

#include "engine/gates/gate.h"

namespace cosched {

// kLinear: each gate gives credits to the gate before it, so a request may be before each of them.
// kEndToEnd: whoever ends a request gives them to whoever admits it, so they bound all that is
// inside.
enum class CreditLink { kLinear, kEndToEnd };
std::string_view ToString(CreditLink link);  // "linear", "end-to-end"
bool ParseCreditLink(std::string_view text, CreditLink* result);

struct StageSpec {
  std::string name = {};
  Gate::Options from = {};  // The gate above it.
  int joins = 0;            // So many levels that kPartition gates began end at its gate.
  int parallel = 0;         // Calls at once; 0: no limit. Calls that wait for room below count.
  bool waits = false;  // For files or sockets, not for cores: its calls have lanes of their own.
  bool emits_many = false;  // Any number of items a call, 0 too. Otherwise exactly one.
  // Of kPartition: the credits of the level that it begins.
  CreditLink inner_link = CreditLink::kEndToEnd;
  int inner_open = 1;
};

struct PipelineSpec {
  std::vector<StageSpec> stages = {};  // From the ingress to the egress, where all levels end.
  CreditLink link = CreditLink::kLinear;
  int open = 1;      // Credits of each link between the ingress and the egress …
  int open_max = 1;  // … and the most that they can be set to later.
};

// Throws InputError, with the stage and what is allowed, for a specification that makes no sense
// (a bound below a batch, levels that are joined but not begun, order without numbers) and for one
// whose requests can wait for each other for ever, whatever the order of its calls' ends and with
// any number of open requests from 1 to open_max.
void Check(const PipelineSpec& spec);

}  // namespace cosched
