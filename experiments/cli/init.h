#pragma once
// cosched init NAME: a commented experiment file that runs, to be changed.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddInitCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
