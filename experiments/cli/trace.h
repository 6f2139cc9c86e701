#pragma once
// `cosched trace`: what one does with a trace file outside of an experiment. Each subcommand is a
// .cc of its own, trace_<subcommand>.cc, whose function is declared here and called in trace.cc.

#include <CLI/App.hpp>
#include <filesystem>
#include <string>

#include "traces/input/formats.h"
#include "traces/writers.h"

namespace cosched {

void AddTraceCommand(CLI::App& app, int* exit_code);

void AddTraceDescribeCommand(CLI::App& trace, int* exit_code);
void AddTraceConvertCommand(CLI::App& trace, int* exit_code);
void AddTraceGenerateCommand(CLI::App& trace, int* exit_code);

// How a trace file is read: the options that the subcommands share.
struct TraceFileArguments {
  std::string format;
  OnBadRow on_bad_row = OnBadRow::kError;
};
void AddTraceFileOptions(CLI::App* command, TraceFileArguments* arguments);
// All of the trace into a file, which appears under its name when it is whole, or not at all; "" is
// the standard output.
void WriteTrace(TraceReader* reader, TraceWriter* writer, const std::filesystem::path& out);
OpenedTrace OpenTraceFile(const std::string& file, const TraceFileArguments& arguments);

}  // namespace cosched
