#pragma once
// cosched pipeline run increment: the smallest pipeline, to see what stages, credits and ranks cost
// and gain.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddIncrementCommand(CLI::App* run, int* exit_code);

}  // namespace cosched
