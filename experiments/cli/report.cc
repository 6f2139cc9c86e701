#include "experiments/cli/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/table_text.h"
#include "experiments/cli/given_run.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/interrupt.h"
#include "experiments/records/output_file.h"
#include "experiments/report/page.h"
#include "experiments/report/report_data.h"

namespace cosched {
namespace {

struct ReportArguments {
  std::vector<std::filesystem::path> runs;
  std::string out;
  std::string baseline;
  ComparisonOptions comparison;
};

// The runs, that of the baseline first: others are set against it.
std::vector<std::filesystem::path> InOrder(std::vector<std::filesystem::path> runs,
                                           const std::string& baseline) {
  if (baseline.empty()) return runs;
  const std::filesystem::path first = GivenRun(baseline);
  std::erase_if(runs, [&first](const std::filesystem::path& run) {
    std::error_code error;
    return std::filesystem::equivalent(run, first, error);
  });
  runs.insert(runs.begin(), first);
  return runs;
}

// Beside the records of the first run, unless it was said where.
std::filesystem::path PageFile(const ReportArguments& arguments,
                               const std::vector<std::filesystem::path>& runs) {
  const std::filesystem::path file =
      arguments.out.empty() ? runs.front() / "report.html" : std::filesystem::path(arguments.out);
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (std::filesystem::is_directory(file, error) || !std::filesystem::is_directory(folder, error))
    RefuseOption("--out", fmt::format("{} can't be a file", file.string()),
                 "a file in a folder that is there");
  return file;
}

// The experiments that the runs are of.
std::string TitleOf(const nlohmann::ordered_json& data) {
  std::vector<std::string> names;
  for (const auto& run : data["runs"]) {
    const std::string name =
        run.value("experiment", nlohmann::ordered_json::object()).value("name", "a run");
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("cosched report: {}", fmt::join(names, ", "));
}

int Report(const ReportArguments& arguments) {
  const FoundRuns found = FindRuns(arguments.runs);
  for (const std::string& note : found.notes) fmt::print("{}", Wrapped("", note));
  const std::vector<std::filesystem::path> runs = InOrder(found.runs, arguments.baseline);
  const std::filesystem::path file = PageFile(arguments, runs);
  const nlohmann::ordered_json data =
      ReportData(runs, {.comparison = arguments.comparison,
                        .folder = std::filesystem::absolute(file).parent_path(),
                        .command = CommandLine()});
  WriteFileWhole(file, ReportPage(TitleOf(data), data));
  fmt::print("{}\n", file.string());
  const auto is_damaged = [](const nlohmann::ordered_json& section) {
    return section["comparison"]["damaged"].get<bool>();
  };
  return std::ranges::any_of(data["sections"], is_damaged) ? 1 : 0;
}

}  // namespace

void AddReportCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* command = app.add_subcommand(
      "report",
      "One or more runs as one HTML file: answer, doubts, tables, pictures, how to repeat it");
  command->add_option("RUN", arguments->runs, "Folders of runs, results/<experiment>/<run>")
      ->required();
  command->add_option("--out", arguments->out,
                      "The file (default: report.html in the first run's folder)");
  command->add_option("--baseline", arguments->baseline,
                      "The run that the others are set against (default: the first)");
  command->add_flag("--pool", arguments->comparison.pool, "As of `cosched compare`");
  command->add_flag("--exclude-marked", arguments->comparison.exclude_marked,
                    "Leave out the cells that are marked as disturbed");
  command->callback([arguments, exit_code] { *exit_code = Report(*arguments); });
}

}  // namespace cosched
