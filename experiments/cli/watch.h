#pragma once
// cosched watch [RUN]: what happens in a run, on the terminal, while it goes on or later
// (experiments/watch/watch_session.h).

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddWatchCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
