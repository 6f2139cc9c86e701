#pragma once
// `cosched replay`: what another policy would have made of a recorded run.

#include <CLI/App.hpp>

namespace cosched {

void AddReplayCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
