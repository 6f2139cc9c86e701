#pragma once
// Scripts that make a shell complete commands, options, and values that are words of a list.
// Whatever else is asked for is completed as a file. Called by `cosched completion`. Pure.

#include <string>
#include <vector>

#include "experiments/cli/command_tree.h"

namespace cosched {

enum class Shell { kBash, kZsh, kFish };

std::string ShellCompletion(Shell shell, const std::vector<DescribedCommand>& commands);

}  // namespace cosched
