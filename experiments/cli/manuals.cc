#include "experiments/cli/manuals.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/read_number.h"
#include "experiments/analysis/table_text.h"
#include "experiments/cli/man_page.h"
#include "experiments/cli/shell_completion.h"
#include "experiments/cli/typed_option.h"
#include "experiments/launch/build_info.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

// Today, or the day that a reproducible build names (reproducible-builds.org).
std::string PageDate() {
  std::time_t now = std::time(nullptr);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"))
    now = ReadNumber<std::time_t>(epoch, 0, std::numeric_limits<int32_t>::max()).value_or(now);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

void WriteManuals(const CLI::App& app, const std::filesystem::path& folder) {
  std::error_code refused;
  std::filesystem::create_directories(folder, refused);
  if (refused) RefuseValue("DIR", folder.string(), "a folder that can be made");
  const std::string version(GetBuildInfo().version), date = PageDate();
  const std::vector<DescribedCommand> commands = DescribeCommands(app);
  for (const DescribedCommand& command : commands)
    WriteFileWhole(folder / ManPageName(command), ManPage(command, version, date));
  fmt::print("{} in {}\n", Counted(static_cast<int64_t>(commands.size()), "page"), folder.string());
}

}  // namespace

void AddManualsCommand(CLI::App& app, int* exit_code) {
  const auto folder = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("manuals", "Write a manual page for each command, as man(1) shows them");
  command->add_option("DIR", *folder, "The folder to write them to")->required();
  command->callback([&app, folder, exit_code] {
    WriteManuals(app, *folder);
    *exit_code = 0;
  });
}

void AddCompletionCommand(CLI::App& app, int* exit_code) {
  const auto shell = std::make_shared<Shell>(Shell::kBash);
  CLI::App* command = app.add_subcommand(
      "completion", "Print what makes a shell complete commands, options and their values");
  AddChoice(command, "SHELL", shell.get(),
            {{"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}}, "Which shell")
      ->default_str("")
      ->required();
  command->callback([&app, shell, exit_code] {
    fmt::print("{}", ShellCompletion(*shell, DescribeCommands(app)));
    *exit_code = 0;
  });
}

}  // namespace cosched
