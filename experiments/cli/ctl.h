#pragma once
// cosched ctl TARGET …: steers a running tenant through its control socket, or by real-time
// signals.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddCtlCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
