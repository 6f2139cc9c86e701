// The cosched command. Each subcommand adds itself; errors of input and output are told here, once.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "experiments/cli/bench.h"
#include "experiments/cli/calibrate.h"
#include "experiments/cli/compare.h"
#include "experiments/cli/ctl.h"
#include "experiments/cli/doctor.h"
#include "experiments/cli/examples.h"
#include "experiments/cli/gradients.h"
#include "experiments/cli/init.h"
#include "experiments/cli/json_output.h"
#include "experiments/cli/list.h"
#include "experiments/cli/manuals.h"
#include "experiments/cli/model.h"
#include "experiments/cli/node.h"
#include "experiments/cli/pipeline.h"
#include "experiments/cli/profile.h"
#include "experiments/cli/prompt.h"
#include "experiments/cli/replay.h"
#include "experiments/cli/report.h"
#include "experiments/cli/reproduce.h"
#include "experiments/cli/run.h"
#include "experiments/cli/runs.h"
#include "experiments/cli/tenant.h"
#include "experiments/cli/trace.h"
#include "experiments/cli/validate.h"
#include "experiments/cli/watch.h"
#include "experiments/cli/wrap.h"
#include "experiments/launch/build_info.h"
#include "experiments/os/exit_code.h"

namespace {

int Fail(const CLI::App& app, const std::exception& error, int exit_code) {
  std::fprintf(stderr, "cosched: %s\n", error.what());
  if (cosched::AsksForJson(app))
    cosched::JsonOutput(true).Print(cosched::ErrorJson(error, exit_code));
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Compares co-scheduling policies on malleable CNN programs."};
  app.set_version_flag("--version", cosched::VersionText());
  app.require_subcommand(1);
  int exit_code = 0;
  cosched::AddInitCommand(app, &exit_code);
  cosched::AddRunCommand(app, &exit_code);
  cosched::AddWatchCommand(app, &exit_code);
  cosched::AddCompareCommand(app, &exit_code);
  cosched::AddReportCommand(app, &exit_code);
  cosched::AddRunsCommand(app, &exit_code);
  cosched::AddReproduceCommand(app, &exit_code);
  cosched::AddCalibrateCommand(app, &exit_code);
  cosched::AddValidateCommand(app, &exit_code);
  cosched::AddProfileCommand(app, &exit_code);
  cosched::AddDiffCommand(app, &exit_code);
  cosched::AddReplayCommand(app, &exit_code);
  cosched::AddTenantCommand(app, &exit_code);
  cosched::AddWrapCommand(app, &exit_code);
  cosched::AddNodeCommand(app, &exit_code);
  cosched::AddCtlCommand(app, &exit_code);
  cosched::AddTraceCommand(app, &exit_code);
  cosched::AddPipelineCommand(app, &exit_code);
  cosched::AddBenchCommand(app, &exit_code);
  cosched::AddGradientsCommand(app, &exit_code);
  cosched::AddListCommand(app, &exit_code);
  cosched::AddModelCommand(app, &exit_code);
  cosched::AddDoctorCommand(app, &exit_code);
  cosched::AddCompletionCommand(app, &exit_code);
  cosched::AddManualsCommand(app, &exit_code);
  cosched::AddExamples(app);  // Behind all commands: these go through them.
  cosched::RefuseEmptyValues(app);
  try {
    std::vector<std::string> words = cosched::WithHelpAsOption(argc, argv);
    const bool lacks = cosched::LacksCommand(app, words);
    if (lacks) words.emplace_back("--help");
    try {
      std::vector<const char*> arguments = {argc > 0 ? argv[0] : "cosched"};
      for (const std::string& word : words) arguments.push_back(word.c_str());
      app.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ExtrasError&) {
      cosched::RefuseExtras(app);
    } catch (const CLI::Success& told) {  // --help, --version.
      app.exit(told);
      return lacks ? cosched::kBadInput : 0;
    } catch (const CLI::ParseError& error) {
      cosched::RefuseUsage(app, error);
    }
  } catch (const cosched::InputError& error) {
    return Fail(app, error, cosched::kBadInput);
  } catch (const std::exception& error) {  // OutputError, and whatever else the machine refuses.
    return Fail(app, error, cosched::kFailed);
  }
  return exit_code;
}
