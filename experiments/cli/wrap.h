#pragma once
// cosched wrap -- CMD: a program of somebody else's, run here and steered by `cosched ctl`.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddWrapCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
