#pragma once
// --follow of the commands that run a program here. Called by those, on one thread.

#include "experiments/cli/typed_option.h"
#include "experiments/os/cpu_quota.h"

namespace cosched {

// rule: outlives the command.
inline CLI::Option* AddFollowOption(CLI::App* command, FollowRule* rule) {
  return AddChoice(command, "--follow", rule,
                   {{"ceil", FollowRule::kCeil},
                    {"floor", FollowRule::kFloor},
                    {"own", FollowRule::kOwn},
                    {"keep", FollowRule::kKeep}},
                   "How many threads a CPU quota is worth that others change: rounded up or down; "
                   "own: of its own cgroup alone, up; keep: its threads stay, on fewer cores, too");
}

}  // namespace cosched
