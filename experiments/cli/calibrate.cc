#include "experiments/cli/calibrate.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <memory>

#include "engine/base/error.h"
#include "experiments/build_info.h"
#include "experiments/cli/interrupt.h"
#include "experiments/published_profile.h"

namespace cosched {
namespace {

struct CalibrateArguments {
  std::string from_published;
  std::string out;
};

// Before anything is measured: it would be a pity to find out afterwards.
void CheckOut(const std::string& out) {
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path();
  std::error_code ignored;
  if (!std::filesystem::is_directory(out, ignored) &&
      std::filesystem::is_directory(folder, ignored)) {
    return;
  }
  throw InputError({.file = "command line",
                    .key = "--out",
                    .problem = fmt::format("{} can't be a file", out),
                    .allowed = "a file in a folder that is there"});
}

void Save(Profile profile, const std::string& out) {
  const BuildInfo& build = GetBuildInfo();
  profile.version = fmt::format("{}; oneDNN {}, Eigen {}, hwloc {}, {}", VersionText(),
                                build.onednn, build.eigen, build.hwloc, build.compiler);
  profile.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  SaveProfile(profile, out);
  fmt::print("\nprofile: {}\n", out);
}

int FromPublished(const CalibrateArguments& arguments) {
  PublishedProfile published = ReadPublishedProfile(arguments.from_published);
  for (const std::string& line : published.report) fmt::print("{}\n", line);
  published.profile.source = "published: " + CommandLine();
  Save(std::move(published.profile), arguments.out);
  return 0;
}

}  // namespace

void AddCalibrateCommand(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure programs on this machine for the simulator and size-aware policies");
  const auto arguments = std::make_shared<CalibrateArguments>();
  command
      ->add_option("--from-published", arguments->from_published,
                   "Measure nothing: read the published tables of this folder")
      ->required();
  command->add_option("--out", arguments->out, "The profile (.json) to write")->required();
  command->callback([arguments, exit_code] {
    CheckOut(arguments->out);
    *exit_code = FromPublished(*arguments);
  });
}

}  // namespace cosched
