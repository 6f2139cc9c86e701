#pragma once
// cosched run EXPERIMENT.toml: every policy x elasticity x trial of an experiment file, then the
// comparison and the plots.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddRunCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
