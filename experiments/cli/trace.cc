#include "experiments/cli/trace.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <system_error>

#include "engine/base/error.h"
#include "experiments/cli/typed_option.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

constexpr size_t kBuffer = 1 << 20;

template <typename Output>
void WriteText(TraceReader* reader, TraceWriter* writer, Output output) {
  std::string text;
  writer->Begin(&text);
  for (Arrival arrival; reader->Next(&arrival);) {
    writer->Write(arrival, &text);
    if (text.size() < kBuffer) continue;
    output(text);
    text.clear();
  }
  output(text);
}

void WriteStandardOutput(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw OutputError("standard output can't be written");
}

}  // namespace

void AddTraceCommand(CLI::App& app, int* exit_code) {
  CLI::App* trace =
      app.add_subcommand("trace", "Explain, convert and generate traces of jobs and requests");
  trace->require_subcommand(1);
  AddTraceDescribeCommand(*trace, exit_code);
  AddTraceConvertCommand(*trace, exit_code);
  AddTraceGenerateCommand(*trace, exit_code);
}

void AddTraceFileOptions(CLI::App* command, TraceFileArguments* arguments) {
  command->add_option("--format", arguments->format,
                      "The trace's format (cosched list formats); default: found by its content");
  AddChoice(command, "--on-bad-row", &arguments->on_bad_row,
            {{"error", OnBadRow::kError}, {"skip", OnBadRow::kSkip}},
            "error: a malformed row ends it all; skip: such rows are left out and counted");
}

OpenedTrace OpenTraceFile(const std::string& file, const TraceFileArguments& arguments) {
  return OpenTrace(file, arguments.format, {.on_bad_row = arguments.on_bad_row});
}

void WriteTrace(TraceReader* reader, TraceWriter* writer, const std::filesystem::path& out) {
  if (out.empty()) return WriteText(reader, writer, WriteStandardOutput);
  std::filesystem::path partial = out;
  partial += ".partial";
  try {
    OutputFile file(partial);
    WriteText(reader, writer, [&file](const std::string& text) { file.Write(text); });
    file.Sync();
  } catch (...) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw;
  }
  RenameFile(partial, out);
}

}  // namespace cosched
