#include "experiments/cli/compare.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "experiments/cli/plots.h"
#include "experiments/comparison.h"
#include "experiments/interference_table.h"
#include "experiments/manifest.h"
#include "experiments/sweep_table.h"

namespace cosched {
namespace {

struct CompareArguments {
  std::vector<std::filesystem::path> results;
  bool detail = false;
  bool interference = false;
  bool no_plots = false;
};

int Compare(const CompareArguments& arguments) {
  std::vector<std::filesystem::path> runs, pooled;
  for (const std::filesystem::path& path : arguments.results) {
    const std::vector<std::filesystem::path> points = PointFolders(path);
    if (points.size() == 1 && points.front() == path) {
      for (const std::filesystem::path& run : FindRuns({path})) pooled.push_back(run);
    } else {  // Points differ by more than chance: nothing of theirs is pooled.
      fmt::print("{}\n{}\n", path.string(), SweepTable(points));
      runs.push_back(path);
    }
  }
  if (!pooled.empty()) fmt::print("{}", ComparisonTable(pooled));
  if (!pooled.empty() && arguments.detail) fmt::print("\n{}", DetailTable(pooled));
  if (arguments.interference) fmt::print("\n{}", InterferenceTable(arguments.results));
  if (arguments.no_plots) return 0;
  fmt::print("\n");
  runs.insert(runs.end(), pooled.begin(), pooled.end());
  bool drawn = true;
  for (const std::filesystem::path& run : runs) drawn = DrawPlots(run) && drawn;
  return drawn ? 0 : 1;
}

}  // namespace

void AddCompareCommand(CLI::App& app, int* exit_code) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command =
      app.add_subcommand("compare", "Compare the policies of one or more runs: table and plots");
  command->add_option("RESULTS", arguments->results, "Folders of runs, results/<experiment>/<run>")
      ->required();
  command->add_flag("--detail", arguments->detail,
                    "Also what the kernel counted: run-queue wait, switches, migrations, pressure");
  command->add_flag("--interference", arguments->interference,
                    "Also who made whose threads wait, of runs that recorded it");
  command->add_flag("--no-plots", arguments->no_plots, "Only the table");
  command->callback([arguments, exit_code] { *exit_code = Compare(*arguments); });
}

}  // namespace cosched
