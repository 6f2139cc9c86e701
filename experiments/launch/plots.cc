#include "experiments/launch/plots.h"

#include <fmt/format.h>

#include <cstdlib>

#include "experiments/analysis/records_integrity.h"
#include "experiments/launch/build_info.h"
#include "experiments/os/run_program.h"
#include "experiments/os/this_binary.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

constexpr const char* kNoScript =
    "no plots: plots/{}.py is neither where cosched is installed nor in the source tree\n";

std::filesystem::path InstalledTree() {
  return ThisBinary().parent_path().parent_path() / "share/cosched";
}

}  // namespace

std::vector<std::string> PythonCandidates() {
  if (const char* chosen = std::getenv("COSCHED_PYTHON"); chosen && *chosen) return {chosen};
  return {"/usr/bin/python3", "python3"};
}

bool CanDraw(const std::string& python) {
  return RunProgram({python, "-c", "import matplotlib, pandas"}, true) == 0;
}

std::string FindPython() {
  for (const std::string& python : PythonCandidates()) {
    if (CanDraw(python)) return python;
  }
  return "";
}

bool IsInstalled() {
  std::error_code ignored;
  return std::filesystem::exists(InstalledTree(), ignored);
}

std::filesystem::path FindTreeFile(const std::string& path) {
  const std::filesystem::path folder = ThisBinary().parent_path();
  std::error_code ignored;
  std::vector<std::filesystem::path> roots = {InstalledTree()};
  // Where it is installed, nothing of the tree that it was built from is mixed in.
  if (!IsInstalled())
    roots = {std::filesystem::path(GetBuildInfo().source_dir), folder, folder.parent_path()};
  for (const std::filesystem::path& root : roots) {
    if (std::filesystem::exists(root / path, ignored)) return root / path;
  }
  return {};
}

bool DrawPlots(const std::filesystem::path& run) {
  if (!IsSweep(run)) return DrawWith("plot_all", run);
  const auto manifest = ReadManifest(run).value_or(nlohmann::ordered_json::object());
  const auto experiment = manifest.value("experiment", nlohmann::ordered_json::object());
  const std::string name = experiment.value("name", "");
  const bool is_figure = !name.empty() && !FindTreeFile("plots/expected/" + name + ".json").empty();
  return DrawWith(is_figure ? name : "sweep", run);
}

bool DrawWith(const std::string& name, const std::filesystem::path& run) {
  const std::filesystem::path script = FindTreeFile("plots/" + name + ".py");
  if (script.empty()) {
    fmt::print(stderr, kNoScript, name);
    return false;
  }
  const std::string python = FindPython();
  if (python.empty()) {
    fmt::print(stderr,
               "no plots: no python with matplotlib and pandas; apt-get install python3-matplotlib "
               "python3-pandas, or name one in "
               "$COSCHED_PYTHON, then: {} {}\n",
               "python3", script.string() + " " + run.string());
    return false;
  }
  std::fflush(stdout);
  if (RunProgram({python, script.string(), run.string()}) == 0) return true;
  const std::vector<std::string> damages = CheckRecords(run).damages;
  fmt::print(
      stderr, "the plots failed; {}. To try again: {} {} {}\n",
      damages.empty()
          ? "the records are whole"
          : fmt::format("the records are damaged ({}{})", damages.front(),
                        damages.size() > 1 ? fmt::format("; and {} more", damages.size() - 1) : ""),
      python, script.string(), run.string());
  return false;
}

bool RunPlotScript(const std::string& script, const std::vector<std::string>& arguments) {
  const std::filesystem::path file = FindTreeFile("plots/" + script + ".py");
  const std::string python = FindPython();
  if (file.empty()) {
    fmt::print(stderr, kNoScript, script);
    return false;
  }
  if (python.empty()) {
    fmt::print(stderr,
               "no plots: no python with matplotlib and pandas; apt-get install python3-matplotlib "
               "python3-pandas, or name one in $COSCHED_PYTHON\n");
    return false;
  }
  std::vector<std::string> command = {python, file.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::fflush(stdout);
  return RunProgram(std::move(command)) == 0;
}

}  // namespace cosched
