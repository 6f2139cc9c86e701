// `cosched trace describe`: what is in a trace, as text, as JSON, as a plot.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/error.h"
#include "experiments/cli/trace.h"
#include "experiments/config/generator_table.h"
#include "experiments/launch/plots.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/os/terminal_columns.h"
#include "experiments/records/output_file.h"
#include "traces/description/text.h"
#include "traces/input/formats.h"

namespace cosched {
namespace {

constexpr int kNoPlot = 1;
constexpr int kWidestChart = 100;

struct DescribeArguments {
  std::string file;
  TraceFileArguments input;
  bool json = false;
  std::optional<std::string> plot;
};

std::string Dump(const nlohmann::json& json) {
  // A tenant's name may be anything that its format allows.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// FILE's name without what says how it is stored, in the current folder.
std::string DefaultPlot(const std::string& file) {
  std::filesystem::path name = std::filesystem::path(file).filename();
  for (const char* packed : {".gz", ".bz2", ".xz"}) {
    if (name.extension() == packed) name.replace_extension();
  }
  return name.replace_extension(".png").string();
}

bool Plot(const nlohmann::json& description, const DescribeArguments& arguments) {
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "description.json";
  WriteFileWhole(file, Dump(description));
  const std::string out = arguments.plot->empty() ? DefaultPlot(arguments.file) : *arguments.plot;
  return RunPlotScript("trace_description", {file.string(), "--out", out});
}

struct DescribedSource {
  std::string format;
  std::unique_ptr<TraceReader> reader;
};

// A trace's file, or the specification of one (`cosched trace generate`), which is drawn in
// passing.
DescribedSource OpenDescribed(const DescribeArguments& arguments) {
  const std::filesystem::path path = arguments.file;
  if (path.extension() == ".toml" && arguments.input.format.empty()) {
    GeneratorFile file = ReadGeneratorFile(TomlTable::Load(path, {}), path.parent_path());
    return {"generated", std::make_unique<GeneratedTrace>(file.columns, file.generators,
                                                          file.limits, file.seed)};
  }
  OpenedTrace trace = OpenTraceFile(arguments.file, arguments.input);
  return {std::string(trace.format->name), std::move(trace.reader)};
}

int DescribeFile(const DescribeArguments& arguments) {
  const DescribedSource trace = OpenDescribed(arguments);
  const TraceDescription description = Describe(trace.reader.get());
  const DescribedTrace described = {
      .file = arguments.file, .format = trace.format, .counts = trace.reader->RowCounts()};
  if (arguments.json) {
    fmt::print("{}", Dump(DescriptionJson(described, description)));
  } else {
    fmt::print("{}", DescriptionText(described, description,
                                     {.chart_columns =
                                          std::min(TerminalColumns(STDOUT_FILENO), kWidestChart)}));
  }
  if (!arguments.plot) return 0;
  return Plot(DescriptionJson(described, description), arguments) ? 0 : kNoPlot;
}

}  // namespace

void AddTraceDescribeCommand(CLI::App& trace, int* exit_code) {
  CLI::App* command = trace.add_subcommand(
      "describe", "What is in a trace: rates, gaps, silences, ties, tenants, sizes");
  const auto arguments = std::make_shared<DescribeArguments>();
  command
      ->add_option("FILE", arguments->file,
                   "The trace; may be packed (gzip, bzip2, xz); or a generator's .toml")
      ->required();
  AddTraceFileOptions(command, &arguments->input);
  command->add_flag("--json", arguments->json, "Everything, as one line of JSON on stdout");
  command
      ->add_option("--plot", arguments->plot,
                   "Also draw rate over time, gaps and autocorrelation; default: FILE's name, .png")
      ->expected(0, 1);
  command->callback([arguments, exit_code] { *exit_code = DescribeFile(*arguments); });
}

}  // namespace cosched
