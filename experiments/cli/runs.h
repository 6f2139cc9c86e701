#pragma once
// cosched runs list|show|rm|export|import: the runs that there are, and their way to another machine.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddRunsCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
