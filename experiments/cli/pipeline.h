#pragma once
// cosched pipeline run: an application of workloads/pipelines by a person, on this machine alone, and
// where its time went.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddPipelineCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
