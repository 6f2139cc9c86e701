#pragma once
// cosched node: the agent of one node (experiments/hosts/node_agent.h), which a harness with
// backend = "slurm" starts on each of its nodes. Not for people, so no help shows it.

#include <CLI/App.hpp>

namespace cosched {

// exit_code is set when the command runs; it outlives the app.
void AddNodeCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
