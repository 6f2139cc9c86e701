#include "experiments/cli/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "experiments/analysis/compared_sides.h"
#include "experiments/analysis/comparison.h"
#include "experiments/analysis/comparison_json.h"
#include "experiments/analysis/comparison_runs.h"
#include "experiments/analysis/interference_table.h"
#include "experiments/analysis/metrics.h"
#include "experiments/analysis/same_run_check.h"
#include "experiments/analysis/sweep_table.h"
#include "experiments/analysis/table_text.h"
#include "experiments/cli/gate_results.h"
#include "experiments/cli/json_output.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/plots.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

struct CompareArguments {
  std::vector<std::filesystem::path> results;
  ComparisonOptions options;
  bool same = false;
  bool interference = false;
  bool no_plots = false;
  bool json = false;
  std::string junit;
};

// Exit code.
int CheckSame(const std::vector<std::filesystem::path>& runs, const CompareArguments& arguments) {
  if (runs.size() != 2 || IsSweep(runs[0]) || IsSweep(runs[1])) {
    RefuseOption("--aa", fmt::format("{} runs are given", runs.size()),
                 "two runs, none of them a sweep");
  }
  const SameRunCheck check = CheckSameRuns(runs[0], runs[1], arguments.options.exclude_marked);
  fmt::print("{}", check.text);
  return check.differs ? 1 : 0;
}

// Prints it; false if its records are damaged. Throws InputError for what a sweep's table has not.
bool CompareSweep(const std::filesystem::path& run, const ComparisonOptions& options,
                  std::vector<JudgedGates>* gates) {
  for (const auto& [given, option] : {std::pair{!options.baseline.empty(), "--baseline"},
                                      {options.pool, "--pool"},
                                      {options.exclude_marked, "--exclude-marked"},
                                      {options.detail, "--detail"},
                                      {options.explain, "--explain"}}) {
    if (!given) continue;
    RefuseOption(option, fmt::format("{} is a sweep, a table of all its points", run.string()),
                 "one of its points: " + PointFolders(run).front().string());
  }
  ComparisonReport report = SweepTable(PointFolders(run));
  fmt::print("{}\n{}\n", run.string(), report.text);
  std::ranges::move(report.gates, std::back_inserter(*gates));
  return !report.damaged;
}

int CompareGiven(const CompareArguments& arguments) {
  const FoundRuns found = FindRuns(arguments.results);
  if (arguments.json) {
    JsonOutput output(true);
    const ComparedRuns compared = CompareDocument(found, arguments.options);
    output.Print(compared.document);
    WriteJUnit(compared.gates, arguments.junit);
    return compared.damaged || AnyGateFails(compared.gates) ? 1 : 0;
  }
  for (const std::string& note : found.notes) fmt::print("{}", Wrapped("", note));
  if (arguments.same) return CheckSame(found.runs, arguments);
  bool whole = true;
  std::vector<JudgedGates> gates;
  std::vector<std::filesystem::path> compared;
  for (const std::filesystem::path& run : found.runs) {
    if (IsSweep(run)) {  // Points differ by more than chance: nothing of theirs is pooled.
      whole = CompareSweep(run, arguments.options, &gates) && whole;
    } else {
      compared.push_back(run);
    }
  }
  if (!compared.empty()) {
    ComparisonReport report = CompareRuns(compared, arguments.options);
    fmt::print("{}", report.text);
    std::ranges::move(report.gates, std::back_inserter(gates));
    whole = whole && !report.damaged;
  }
  if (arguments.interference) fmt::print("\n{}", InterferenceTable(found.runs));
  if (!arguments.no_plots) {
    fmt::print("\n");
    for (const std::filesystem::path& run : found.runs) whole = DrawPlots(run) && whole;
  }
  const int failed = TellGates(gates, arguments.junit);
  return whole ? failed : 1;
}

}  // namespace

void AddCompareCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare the policies of one or more runs: table and plots");
  command->add_option("RESULTS", arguments->results, "Folders of runs, results/<experiment>/<run>")
      ->required();
  command->add_option("--baseline", arguments->options.baseline,
                      "The policy that the others are compared with (default: the "
                      "experiment's `baseline`, or the one with the lowest median makespan)");
  command->add_flag("--pool", arguments->options.pool,
                    "Take the runs for one experiment even where configuration, machine, binary or "
                    "backend differ, or the traces are the same");
  command->add_flag("--exclude-marked", arguments->options.exclude_marked,
                    "Leave out the cells that are marked as disturbed");
  command->add_flag("--aa", arguments->same,
                    "Check that two runs of the same thing do not differ; exit code 1 if they do");
  command->add_flag("--explain", arguments->options.explain, "With a glossary of the columns");
  command->add_flag("--detail", arguments->options.detail,
                    "Also all intervals, and what the kernel counted: run-queue wait, switches, "
                    "migrations, pressure");
  command->add_flag("--interference", arguments->interference,
                    "Also who made whose threads wait, of runs that recorded it");
  command->add_flag("--no-plots", arguments->no_plots, "Only the table");
  CLI::Option* json = AddJsonFlag(command, &arguments->json, "compare.schema");
  command->add_option("--junit", arguments->junit, kJUnitMeaning)
      ->excludes(command->get_option("--aa"));
  for (const char* text : {"--aa", "--explain", "--detail", "--interference", "--no-plots"})
    json->excludes(command->get_option(text));
  command->callback([arguments, exit_code] { *exit_code = CompareGiven(*arguments); });
}

}  // namespace cosched
