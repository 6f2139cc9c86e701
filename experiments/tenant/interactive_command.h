#pragma once
// A program of somebody else's run by a person and steered by `cosched ctl`: confined to its cores,
// paused and resumed, its client told how many threads to have. A line on stderr for every change.
// Called by the `wrap` command.

#include <string>

#include "engine/base/topology.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/wire/command_choice.h"

namespace cosched {

struct InteractiveCommandOptions {
  CommandChoice command;
  CommandPlace place;  // Its cores and threads at the start; it never runs elsewhere.
  FollowRule follow = FollowRule::kCeil;
  std::string control;  // Path of the control socket; "" = the default.
};

// Returns the program's exit code, or 128 and the signal that has killed it. Throws InputError if it
// can't be started.
int RunInteractiveCommand(const InteractiveCommandOptions& options, const Topology& topology);

}  // namespace cosched
