#pragma once
// `cosched trace`: what one does with a trace file outside of an experiment. Each subcommand is a
// .cc of its own, trace_<subcommand>.cc, whose function is declared here and called in trace.cc.

#include <CLI/App.hpp>
#include <string>

#include "traces/formats.h"

namespace cosched {

void AddTraceCommand(CLI::App& app, int* exit_code);

void AddTraceDescribeCommand(CLI::App& trace, int* exit_code);
void AddTraceConvertCommand(CLI::App& trace, int* exit_code);

// How a trace file is read: the options that the subcommands share.
struct TraceFileArguments {
  std::string format;
  std::string on_bad_row = "error";
};
void AddTraceFileOptions(CLI::App* command, TraceFileArguments* arguments);
OpenedTrace Open(const std::string& file, const TraceFileArguments& arguments);

}  // namespace cosched
