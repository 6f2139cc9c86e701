#pragma once
// cosched compare RESULTS...: the comparison table of one or more runs on stdout, and their plots.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddCompareCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
