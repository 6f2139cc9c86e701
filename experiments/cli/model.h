#pragma once
// cosched model run|describe: one network, ours or from a file, run once on given numbers and
// compared with a reference; or what it consists of.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddModelCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
