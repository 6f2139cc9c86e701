#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>

#include "experiments/analysis/decision_diff.h"
#include "experiments/analysis/metrics.h"
#include "experiments/cli/given_run.h"
#include "experiments/cli/validate.h"
#include "experiments/config/option_refusal.h"
#include "experiments/os/exit_code.h"
#include "experiments/records/cell_file.h"

namespace cosched {
namespace {

struct DiffArguments {
  std::filesystem::path a, b;
};

bool IsCell(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kCellFileName, ignored);
}

std::vector<CellKey> CommonCells(const DiffArguments& arguments) {
  const std::vector<CellKey> a = WholeCells(arguments.a), b = WholeCells(arguments.b);
  std::vector<CellKey> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  if (!common.empty()) return common;
  RefuseOption(
      "A B",
      fmt::format("{} and {} have no cell in common", arguments.a.string(), arguments.b.string()),
      "two runs of one experiment, or two cells of theirs (RUN/policy/elasticity/trial)");
}

int Diff(DiffArguments arguments) {
  for (std::filesystem::path* folder : {&arguments.a, &arguments.b})
    if (!IsCell(*folder)) *folder = GivenRun(folder->string());
  const std::string name_a = arguments.a.string(), name_b = arguments.b.string();
  if (IsCell(arguments.a) && IsCell(arguments.b)) {
    const auto diff = FindFirstDifference(arguments.a, arguments.b);
    fmt::print("{}", diff ? DiffText(*diff, name_a, name_b) : "all decisions are alike\n");
    return diff ? kDiffers : 0;
  }
  int alike = 0, all = 0;
  for (const CellKey& key : CommonCells(arguments)) {
    const auto diff =
        FindFirstDifference(CellFolder(arguments.a, key), CellFolder(arguments.b, key));
    ++all;
    alike += !diff;
    if (diff) fmt::print("{}: {}\n", ToString(key), DiffText(*diff, name_a, name_b));
  }
  fmt::print("{} of {} cells have all decisions alike\n", alike, all);
  return alike == all ? 0 : kDiffers;
}

}  // namespace

void AddDiffCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "diff", "Show the first decision that differs between two records, with both views");
  const auto arguments = std::make_shared<DiffArguments>();
  command->add_option("A", arguments->a, "A run, or a cell of one (RUN/policy/elasticity/trial)")
      ->required();
  command->add_option("B", arguments->b, "Another of the same experiment")->required();
  command->callback([arguments, exit_code] { *exit_code = Diff(*arguments); });
}

}  // namespace cosched
