#include "experiments/launch/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <thread>

#include "engine/base/error.h"
#include "experiments/config/experiment_json.h"
#include "experiments/config/option_refusal.h"
#include "experiments/config/profile_doubts.h"
#include "experiments/config/trace_json.h"
#include "experiments/launch/build_info.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;  // In the order in which a person reads it.

constexpr int kManifestFormat = 1;
// Of a process that was suspended while it looked, too.
constexpr std::chrono::seconds kLongestLook{10};
std::string UtcNow(const char* format) {
  return fmt::format(fmt::runtime(format), fmt::gmtime(std::time(nullptr)));
}
std::string IsoNow() { return UtcNow("{:%Y-%m-%dT%H:%M:%SZ}"); }

Json PointsJson(const Sweep& sweep) {
  Json points = Json::array();
  for (const SweepPoint& point : sweep.points) {
    Json values = Json::object();
    for (const auto& [key, value] : point.values) values[key] = value;
    points.push_back({{"name", point.name}, {"values", values}});
  }
  return points;
}

// The cells of one point, in the order in which they run.
Json OrderJson(const Sweep& sweep, size_t point) {
  Json order = Json::array();
  for (const SweepCell& cell : sweep.cells) {
    if (cell.point == point) order.push_back(ToString(cell.key));
  }
  return order;
}

// What all manifests begin with.
Json Begun(const ExperimentConfig& config, const RunContext& context) {
  return {{"format", kManifestFormat},
          {"status", "running"},
          {"started", IsoNow()},
          {"finished", nullptr},
          {"command_line", context.command_line},
          {"experiment_file", std::filesystem::absolute(config.file).string()}};
}

// And what they end with.
void AddRest(const Json& conditions, const std::vector<std::string>& doubts, Json* manifest) {
  (*manifest)["profile_doubts"] = doubts;
  manifest->update(conditions);
  (*manifest)["resumed"] = Json::array();
  (*manifest)["redone"] = Json::array();
}

Json SweepManifest(const Sweep& sweep, const RunContext& context, const RunConditions& conditions) {
  const ExperimentConfig& first = sweep.points.front().config;
  Json manifest = Begun(first, context);
  manifest["experiment"] = {{"name", first.name}};
  manifest["points"] = PointsJson(sweep);
  manifest["left_out"] = sweep.left_out;
  manifest["cells"] = sweep.cells.size();
  AddRest(conditions.OfAll(), ProfileDoubts(sweep), &manifest);
  return manifest;
}

Json PointManifest(const Sweep& sweep, size_t index, const RunContext& context,
                   const RunConditions& conditions) {
  const auto& [name, values, config, plan] = sweep.points[index];
  Json manifest = Begun(config, context);
  manifest["experiment"] = ExperimentJson(config);
  manifest["policies"] = PoliciesJson(config);
  manifest["cells"] = plan.cells.size();
  manifest["order"] = OrderJson(sweep, index);
  manifest["traces"] = TracesJson(plan.traces);
  if (config.HasServices()) manifest["requests"] = TracesJson(plan.requests);
  if (HasClients(plan)) manifest["clients"] = TracesJson(plan.clients);
  AddRest(conditions.OfPoint(index), ProfileDoubts(config), &manifest);
  return manifest;
}

void WriteManifest(const std::filesystem::path& run, const Json& manifest) {
  // A name that is not UTF-8 must not keep a run from being recorded.
  WriteFileWhole(run / kManifestName,
                 manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// The manifest of a run of this format, which may be gone on with; nullopt if there is none, or it
// is not whole.
std::optional<Json> OwnManifest(const std::filesystem::path& run) {
  std::optional<Json> manifest = ReadManifest(run);
  if (manifest && manifest->value("format", 0) != kManifestFormat) return std::nullopt;
  return manifest;
}

UniqueFd Opened(const std::filesystem::path& folder) {
  return UniqueFd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// A file system without such locks refuses none: there nobody can tell who runs what.
bool IsRefused(const UniqueFd& fd, int kind) {
  return flock(fd.get(), kind | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

// Empty if another process runs it. One that only looks (IsHeld) has it for microseconds, and the
// kernel would wait for a run's lock as well. So it is asked again.
UniqueFd Lock(const std::filesystem::path& folder) {
  UniqueFd fd = Opened(folder);
  const auto until = std::chrono::steady_clock::now() + kLongestLook;
  while (fd && IsRefused(fd, LOCK_EX)) {
    const bool runs = IsRefused(fd, LOCK_SH);
    if (runs || std::chrono::steady_clock::now() > until) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fd;
}

std::string RunName() {
  std::random_device device;
  return fmt::format("{}-{:04x}", UtcNow("{:%Y%m%dT%H%M%SZ}"), device() & 0xffff);
}

// In whatever order the keys stand.
bool Same(const Json& a, const Json& b) { return nlohmann::json(a) == nlohmann::json(b); }

// Whether a point's manifest has these arrivals.
bool SameTraces(const Json& manifest, const SweepPoint& point) {
  return Same(manifest.value("traces", Json()), TracesJson(point.plan.traces)) &&
         (!point.config.HasServices() ||
          Same(manifest.value("requests", Json()), TracesJson(point.plan.requests))) &&
         (!HasClients(point.plan) ||
          Same(manifest.value("clients", Json()), TracesJson(point.plan.clients)));
}

bool SameExperiment(const std::filesystem::path& run, const Json& manifest, const Sweep& sweep,
                    const std::function<Json(Json)>& compared) {
  if (sweep.IsSwept() && !Same(manifest.value("points", Json()), PointsJson(sweep))) return false;
  return std::all_of(sweep.points.begin(), sweep.points.end(), [&](const SweepPoint& point) {
    const std::optional<Json> of_point = OwnManifest(PointFolder(run, point));
    return of_point && of_point->contains("experiment") &&
           Same(compared((*of_point)["experiment"]), compared(ExperimentJson(point.config))) &&
           SameTraces(*of_point, point);
  });
}

// How the conditions of now differ from those under which the run was begun, each told once.
std::vector<std::string> DifferencesOf(const std::filesystem::path& run, const Sweep& sweep,
                                       const RunConditions& conditions) {
  std::vector<std::string> all;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    const std::optional<Json> then = OwnManifest(PointFolder(run, point));
    Json now = conditions.OfPoint(i);
    now["experiment"] = ExperimentJson(point.config);
    for (std::string& one : Differences(then.value_or(Json::object()), now,
                                        point.config.backend == Backend::kSimulated)) {
      if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(std::move(one));
    }
  }
  return all;
}

// The manifests of a run: its own, and of a sweep those of the points.
std::vector<std::filesystem::path> ManifestFolders(const std::filesystem::path& run) {
  std::vector<std::filesystem::path> folders = PointFolders(run);
  if (IsSweep(run)) folders.push_back(run);
  return folders;
}

void ChangeManifest(const std::filesystem::path& folder, const std::function<void(Json*)>& change) {
  std::optional<Json> manifest = OwnManifest(folder);
  if (!manifest)
    throw OutputError((folder / kManifestName).string() + ": is gone, or no longer whole");
  change(&*manifest);
  WriteManifest(folder, *manifest);
}

// Changes each manifest of a run, given the names that these cells have in it.
void ForNamesOf(const std::filesystem::path& run, const Sweep& sweep,
                const std::vector<SweepCell>& cells,
                const std::function<void(Json* manifest, const Json& names)>& change) {
  Json all = Json::array();
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const SweepPoint& point = sweep.points[i];
    Json names = Json::array();
    for (const SweepCell& cell : cells) {
      if (cell.point != i) continue;
      names.push_back(ToString(cell.key));
      all.push_back((point.name.empty() ? "" : point.name + "/") + ToString(cell.key));
    }
    ChangeManifest(PointFolder(run, point), [&](Json* manifest) { change(manifest, names); });
  }
  if (sweep.IsSwept()) ChangeManifest(run, [&](Json* manifest) { change(manifest, all); });
}

void RecordResumed(const std::filesystem::path& run, const RunContext& context,
                   const std::vector<std::string>& differences) {
  const Json entry = {{"time", IsoNow()},
                      {"command_line", context.command_line},
                      {"git_commit", GetBuildInfo().git_commit},
                      {"scheduling", context.scheduling},
                      {"differences", differences}};
  for (const std::filesystem::path& folder : ManifestFolders(run))
    ChangeManifest(folder, [&entry](Json* manifest) { (*manifest)["resumed"].push_back(entry); });
}

void WriteManifests(const std::filesystem::path& run, const Sweep& sweep,
                    const RunContext& context) {
  const RunConditions conditions(sweep, context);
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    const std::filesystem::path folder = PointFolder(run, sweep.points[i]);
    std::error_code error;
    std::filesystem::create_directory(folder, error);
    if (error) throw OutputError(folder.string() + ": can't make it: " + error.message());
    WriteManifest(folder, PointManifest(sweep, i, context, conditions));
  }
  if (sweep.IsSwept()) WriteManifest(run, SweepManifest(sweep, context, conditions));
}

// The latest first: names begin with the time.
std::vector<std::filesystem::path> NewestRunsBelow(const std::filesystem::path& parent) {
  std::vector<std::filesystem::path> runs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error))
    runs.push_back(entry.path());
  std::sort(runs.rbegin(), runs.rend());
  return runs;
}

[[noreturn]] void RefuseDifferences(const char* option, const std::filesystem::path& run,
                                    const std::vector<std::string>& differences) {
  RefuseOption(
      option,
      fmt::format("{} was begun under other conditions, and its cells would be mixed with these "
                  "({})",
                  run.string(), fmt::join(differences, "; ")),
      fmt::format("what it was begun with; a new run, without {0}; or {0}=anyway, after which "
                  "every table of it says MIXED",
                  option));
}

// The first differing values of a run that is not of this experiment, for a message; "" = none.
std::string WhyNotOf(const std::filesystem::path& run, const Sweep& sweep) {
  constexpr size_t kMostTold = 3;
  const std::optional<Json> manifest = OwnManifest(run);
  if (!manifest || sweep.IsSwept() || manifest->contains("points")) return "";
  const Json then = WithoutConditions(manifest->value("experiment", Json::object())).flatten();
  const Json now = WithoutConditions(ExperimentJson(sweep.points.front().config)).flatten();
  std::vector<std::string> told;
  for (const auto& [key, value] : now.items()) {
    const Json before = then.contains(key) ? then[key] : Json();
    if (value != before && told.size() < kMostTold)
      told.push_back(
          fmt::format("{} {} there, {} here", key.substr(1), before.dump(), value.dump()));
  }
  if (told.empty()) return "";
  return fmt::format("; {} differs: {}", run.filename().string(), fmt::join(told, ", "));
}

struct Candidate {
  std::filesystem::path run;
  UniqueFd lock;
  std::vector<std::string> differences;
};

// What --resume takes; nullopt if there is none.
std::optional<Candidate> FindUnfinished(const std::vector<std::filesystem::path>& runs,
                                        const Sweep& sweep, const RunConditions& conditions) {
  std::optional<Candidate> latest;
  for (const std::filesystem::path& run : runs) {
    const std::optional<Json> manifest = OwnManifest(run);
    if (!manifest || manifest->value("status", "") != "running" ||
        !SameExperiment(run, *manifest, sweep, WithoutConditions)) {
      continue;
    }
    UniqueFd lock = Lock(run);
    if (!lock) continue;
    Candidate candidate{run, std::move(lock), DifferencesOf(run, sweep, conditions)};
    if (candidate.differences.empty()) return candidate;
    if (!latest) latest = std::move(candidate);
  }
  return latest;
}

}  // namespace

bool IsRunOf(const std::filesystem::path& run, const Sweep& sweep) {
  const std::optional<Json> manifest = OwnManifest(run);
  return manifest && SameExperiment(run, *manifest, sweep, WithoutConditions);
}

std::filesystem::path NewRunFolder(const std::filesystem::path& parent) {
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  // A taken name is not an error for create_directory; it tells by its result.
  while (!error) {
    std::filesystem::path folder = parent / RunName();
    if (std::filesystem::create_directory(folder, error)) return folder;
  }
  const std::string problem =
      fmt::format("can't make a folder below {}: {}", parent.string(), error.message());
  if (error == std::errc::no_space_on_device) throw OutputError(problem);
  RefuseOption("--out", problem, "a folder that can be written to");
}

bool IsRunning(const std::filesystem::path& run) {
  const std::optional<Json> manifest = OwnManifest(run);
  return manifest && manifest->value("status", "") == "running" && IsHeld(run);
}

// Two who ask do not see each other.
bool IsHeld(const std::filesystem::path& run) {
  const UniqueFd fd = Opened(SweepOf(run).value_or(run));
  return fd && IsRefused(fd, LOCK_SH);
}

std::vector<std::filesystem::path> UnfinishedRuns(const std::filesystem::path& results,
                                                  const std::string& experiment) {
  std::vector<std::filesystem::path> runs = NewestRunsBelow(results / experiment);
  std::erase_if(runs, [](const std::filesystem::path& run) {
    const std::optional<Json> manifest = OwnManifest(run);
    return !manifest || manifest->value("status", "") != "running" || IsHeld(run);
  });
  return runs;
}

std::string KernelRatesOfLatest(const std::filesystem::path& results, const Sweep& sweep,
                                bool unfinished) {
  for (const std::filesystem::path& run : NewestRunsBelow(results / sweep.name())) {
    const std::optional<Json> manifest = OwnManifest(run);
    if (!manifest || (manifest->value("status", "") == "running") != unfinished ||
        !SameExperiment(run, *manifest, sweep, WithoutConditions) || IsHeld(run)) {
      continue;
    }
    const Json point = OwnManifest(PointFolder(run, sweep.points.front())).value_or(Json::object());
    const Json rates = point.value("/experiment/machine/kernel_rates"_json_pointer, Json());
    return rates.is_string() ? rates.get<std::string>() : "";
  }
  return "";
}

RunFolder RunFolder::Create(const std::filesystem::path& results, const Sweep& sweep,
                            const RunContext& context) {
  RunFolder folder(NewRunFolder(results / sweep.name()), UniqueFd());
  folder.lock_ = Lock(folder.path_);
  try {
    WriteManifests(folder.path_, sweep, context);
  } catch (const OutputError&) {
    std::error_code ignored;
    std::filesystem::remove_all(folder.path_, ignored);
    throw;
  }
  return folder;
}

RunFolder RunFolder::Resume(const std::filesystem::path& results, const Sweep& sweep,
                            const RunContext& context, OnDifference on_difference) {
  constexpr const char* kOption = "--resume";
  const std::filesystem::path parent = results / sweep.name();
  const std::vector<std::filesystem::path> runs = NewestRunsBelow(parent);
  std::optional<Candidate> found = FindUnfinished(runs, sweep, RunConditions(sweep, context));
  if (!found) {
    RefuseOption(
        kOption,
        fmt::format("there is no unfinished run of this experiment, with these values, below {}{}",
                    parent.string(), runs.empty() ? "" : WhyNotOf(runs.front(), sweep)),
        "the file, --set, --policy, --trials, --seed and --out of the run that was interrupted");
  }
  if (!found->differences.empty() && on_difference == OnDifference::kRefuse)
    RefuseDifferences(kOption, found->run, found->differences);
  RecordResumed(found->run, context, found->differences);
  return RunFolder(found->run, std::move(found->lock));
}

RunFolder RunFolder::Reopen(const std::filesystem::path& results, const Sweep& sweep,
                            const RunContext& context, OnDifference on_difference) {
  constexpr const char* kOption = "--redo-marked";
  const std::filesystem::path parent = results / sweep.name();
  const std::vector<std::filesystem::path> runs = NewestRunsBelow(parent);
  for (const std::filesystem::path& run : runs) {
    const std::optional<Json> manifest = OwnManifest(run);
    if (!manifest || !SameExperiment(run, *manifest, sweep, WithoutConditions)) continue;
    UniqueFd lock = Lock(run);
    if (!lock) RefuseOption(kOption, run.string() + " is still going", "a run that is over");
    if (manifest->value("status", "") == "running")
      RefuseOption(kOption, run.string() + " was interrupted",
                   "--resume, which completes it, first");
    const std::vector<std::string> differences =
        DifferencesOf(run, sweep, RunConditions(sweep, context));
    if (!differences.empty() && on_difference == OnDifference::kRefuse)
      RefuseDifferences(kOption, run, differences);
    if (!differences.empty()) RecordResumed(run, context, differences);
    return RunFolder(run, std::move(lock));
  }
  RefuseOption(
      kOption,
      fmt::format("there is no run of this experiment, with these values, below {}{}",
                  parent.string(), runs.empty() ? "" : WhyNotOf(runs.front(), sweep)),
      "the file, --set, --policy, --trials, --seed and --out of the run that has marked cells");
}

void RunFolder::Finish(const std::string& status) {
  for (const std::filesystem::path& folder : ManifestFolders(path_)) {
    ChangeManifest(folder, [&status](Json* manifest) {
      (*manifest)["status"] = status;
      (*manifest)["finished"] = IsoNow();
    });
  }
}

void RunFolder::Judge(const Sweep& sweep, const std::vector<StoppedTrials>& stopped) const {
  for (const auto& [point, trials, look] : stopped) {
    const Json found = {{"trials", trials},
                        {"within", look.within ? Json(*look.within) : Json()},
                        {"widest", look.widest}};
    ChangeManifest(PointFolder(path_, sweep.points[point]),
                   [&found](Json* manifest) { (*manifest)["stopped"] = found; });
  }
}

void RunFolder::Stop(const Sweep& sweep, const std::vector<StoppedTrials>& stopped) const {
  Judge(sweep, stopped);
  size_t all = sweep.cells.size();
  for (const StoppedTrials& one : stopped) {
    Json order = Json::array();
    for (const SweepCell& cell : sweep.cells) {
      if (cell.point != one.point) continue;
      if (cell.key.trial <= one.trials) order.push_back(ToString(cell.key));
      all -= cell.key.trial > one.trials ? 1 : 0;
    }
    ChangeManifest(PointFolder(path_, sweep.points[one.point]), [&](Json* manifest) {
      (*manifest)["cells"] = order.size();
      (*manifest)["order"] = std::move(order);
    });
  }
  if (sweep.IsSwept() && !stopped.empty())
    ChangeManifest(path_, [all](Json* manifest) { (*manifest)["cells"] = all; });
}

void RunFolder::BeginRedo(const Sweep& sweep, const std::vector<SweepCell>& cells,
                          const RunContext& context) {
  redo_ = IsoNow();
  ForNamesOf(path_, sweep, cells, [&](Json* manifest, const Json& names) {
    if (names.empty()) return;
    (*manifest)["redone"].push_back({{"time", redo_},
                                     {"command_line", context.command_line},
                                     {"status", "running"},
                                     {"cells", names}});
  });
}

void RunFolder::EndRedo(const Sweep& sweep, const std::vector<SweepCell>& cells) const {
  ForNamesOf(path_, sweep, cells, [this](Json* manifest, const Json& names) {
    Json& redone = (*manifest)["redone"];
    // Another, of earlier, may have been killed.
    if (redone.empty() || redone.back().value("time", "") != redo_) return;
    if (names.empty()) return redone.erase(redone.size() - 1);
    redone.back()["status"] = "done";
    redone.back()["cells"] = names;
    if (!manifest->contains("order")) return;
    Json order = Json::array();
    for (const Json& name : (*manifest)["order"]) {
      if (std::find(names.begin(), names.end(), name) == names.end()) order.push_back(name);
    }
    order.insert(order.end(), names.begin(), names.end());
    (*manifest)["order"] = std::move(order);
  });
}

}  // namespace cosched
