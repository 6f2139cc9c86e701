#pragma once
// cosched report RUN...: one or more runs as one HTML file that can be handed in (experiments/report/page.h).

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddReportCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
