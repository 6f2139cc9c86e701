#pragma once
// `cosched trace`: what one does with a trace file outside of an experiment. Each subcommand is a
// .cc of its own, trace_<subcommand>.cc, whose function is declared here and called in trace.cc.

#include <CLI/App.hpp>

namespace cosched {

void AddTraceCommand(CLI::App& app, int* exit_code);

}  // namespace cosched
