#include "experiments/cli/figure_plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/base/cache_folder.h"
#include "engine/base/error.h"
#include "experiments/cli/figure.h"
#include "experiments/cli/policy_options.h"
#include "experiments/config/backend.h"
#include "experiments/config/file_hash.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/not_here_error.h"
#include "experiments/config/sweep.h"
#include "experiments/launch/build_info.h"
#include "experiments/launch/dry_run.h"
#include "experiments/launch/plots.h"
#include "experiments/launch/records_size.h"
#include "experiments/os/capture.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::chrono::minutes kLongestPreparation(10);

Json ExpectedOf(const std::string& name) {
  std::ifstream stream(FindTreeFile("plots/expected/" + name + ".json"));
  Json expected = Json::parse(stream, nullptr, false);
  return expected.is_object() ? expected : Json::object();
}

// What the script could not make it says itself, a line each.
void Prepare(const std::filesystem::path& script, FigurePlan* plan) {
  std::string said;
  if (Capture({"sh", script.string()}, &said, kLongestPreparation)) return;
  std::istringstream lines(said);
  constexpr std::string_view kTold = ".sh: ";  // Behind its name, or that of one that it runs.
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kTold);
    if (at != std::string::npos) plan->lacks.push_back(line.substr(at + kTold.size()));
  }
  if (plan->lacks.empty()) plan->lacks.push_back(script.filename().string() + " failed: " + said);
}

// Each reason once, with how many points it is of.
void AddLeftOut(const Sweep& sweep, FigurePlan* plan) {
  std::map<std::string, size_t> reasons;
  for (const std::string& point : sweep.left_out) ++reasons[point.substr(point.find(": ") + 2)];
  for (const auto& [reason, points] : reasons)
    plan->lacks.push_back(fmt::format("{} of {} points are left out: {}", points,
                                      sweep.points.size() + sweep.left_out.size(), reason));
}

// With what decides about its numbers: all keys but for their comments, and the profiles.
std::string HashOf(const TomlTable& root, const std::vector<SweepPoint>& points) {
  std::string text;
  for (const std::string& leaf : root.Leaves())
    text += fmt::format("{} = {}\n", leaf, root.TomlText(leaf));
  std::set<std::string> profiles;
  for (const auto& point : points) {
    if (point.config.profile) profiles.insert(point.config.profile->hash);
    for (const DeviceConfig& device : point.config.devices) profiles.insert(device.hash);
  }
  for (const std::string& hash : profiles) text += hash + "\n";
  return TextHash(text);
}

// Of the points that run on hardware; nothing where one of them can't tell, or there is none.
std::optional<double> LeastOnHardware(const std::vector<SweepPoint>& points) {
  std::optional<double> total;
  for (const SweepPoint& point : points) {
    if (point.config.backend == Backend::kSimulated) continue;
    const std::optional<double> least = LeastSeconds(point);
    if (!least) return {};
    total = total.value_or(0) + *least;
  }
  return total;
}

void PlanSweep(const Sweep& sweep, const FigureSettings& figure, FigurePlan* plan) {
  AddLeftOut(sweep, plan);
  const bool both = figure.with == FigureSettings::Command::kValidate;  // Measured, and simulated.
  plan->cells = static_cast<int64_t>(sweep.cells.size()) * (both ? 2 : 1);
  for (const SweepPoint& point : sweep.points) {
    if (point.config.backend != Backend::kSimulated)
      plan->cores = std::max(plan->cores, point.config.cores.Count());
  }
  plan->least_s = LeastOnHardware(sweep.points);
  if (both && plan->least_s) *plan->least_s += 60 * figure.calibrate_minutes;
  plan->bytes = TotalSize(EstimateRecords(sweep)) * (both ? 2 : 1);
}

// Into folders that can be written to, whatever those that they come from allow. False: not all.
bool CopyFiles(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_regular_file(error)) continue;
    const fs::path target = to / entry->path().lexically_relative(from);
    fs::create_directories(target.parent_path(), error);
    if (!error) fs::copy_file(entry->path(), target, fs::copy_options::update_existing, error);
    if (error) return false;
  }
  return !error;
}

}  // namespace

std::vector<std::string> FigureNames() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(FindTreeFile("experiments/figures"), ignored)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::filesystem::path FigureFile(const std::string& name) {
  const fs::path file = FindTreeFile("experiments/figures/" + name + ".toml");
  const fs::path cache = CacheFolder();
  if (file.empty() || cache.empty() || access(file.parent_path().c_str(), W_OK) == 0) return file;
  // An installation's, where its user can't make what figures read beside them.
  const fs::path copy = cache / fmt::format("tree-{}", GetBuildInfo().git_commit) / "experiments";
  return CopyFiles(file.parent_path().parent_path(), copy) ? copy / "figures" / file.filename()
                                                           : file;
}

FigureSettings SettingsOf(const TomlTable& chosen) {
  FigureSettings figure;
  FigureSection().Read(chosen.Table("figure"), &figure);
  return figure;
}

FigurePlan PlanFigure(const std::string& name, bool quick, const Topology& topology) {
  const std::filesystem::path path = FigureFile(name);
  const TomlTable file = TomlTable::Load(path, {});
  const TomlTable root = ChosenTable(file, quick);
  const FigureSettings figure = SettingsOf(root);
  const Json expected = ExpectedOf(name);
  FigurePlan plan{.name = name,
                  .title = expected.value("title", ""),
                  .source = expected.value("source", ""),
                  .claims = expected.value("claims", Json::array())};
  if (figure.with == FigureSettings::Command::kBenchmark) {
    plan.hash = HashOf(root, {});
    plan.cores = topology.Cpus().Count();
    plan.why_not = WhyNoBenchmark(figure);
    return plan;
  }
  if (!figure.prepare.empty()) Prepare(path.parent_path() / figure.prepare, &plan);
  try {
    std::vector<std::string> overrides;  // A plan measures no kernels.
    if (!root.Table("machine").Has("kernel_rates"))
      overrides.push_back(fmt::format("machine.kernel_rates={}", kKeptRates));
    // Policies that go by speeds want a profile, which such a figure calibrates first; until then
    // any.
    const bool calibrates = figure.with == FigureSettings::Command::kValidate;
    if (calibrates && !root.Table("machine").Has("profile")) {
      overrides.push_back("machine.profile=" +
                          TomlString(FindTreeFile("experiments/profiles/example.json").string()));
    }
    Sweep sweep = LoadSweep(file, overrides, quick, topology);
    for (SweepPoint& point : sweep.points)
      if (calibrates) point.config.profile.reset();
    PlanSweep(sweep, figure, &plan);
    plan.hash = HashOf(root, sweep.points);
  } catch (const NotHereError& error) {
    plan.why_not = error.details().problem;
    plan.hash = HashOf(root, {});
  } catch (const InputError& error) {
    plan.wrong = error.what();
    plan.hash = HashOf(root, {});
  }
  return plan;
}

}  // namespace cosched
