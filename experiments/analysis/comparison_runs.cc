#include "experiments/analysis/comparison_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "engine/base/error.h"
#include "engine/base/file_bytes.h"
#include "experiments/analysis/estimate.h"
#include "experiments/analysis/metrics.h"
#include "experiments/config/backend.h"
#include "experiments/config/gate_table.h"
#include "experiments/records/csv.h"
#include "experiments/records/manifest_file.h"

namespace cosched {
namespace {

using PlainJson = nlohmann::json;

constexpr size_t kMostDifferences = 4;

// Keys of the manifest that may differ between two runs of one experiment, or are looked at alone.
const std::set<std::string>& Incidental() {
  static const std::set<std::string> keys = {
      "format",  "status", "started",  "finished",   "command_line", "experiment_file",
      "cells",   "traces", "requests", "clients",    "host",         "build",
      "resumed", "order",  "redone",   "experiment", "policies",     "profile_doubts",
      "files",   "stopped"};
  return keys;
}

std::vector<std::string> Strings(const PlainJson& parent, const char* key) {
  std::vector<std::string> strings;
  for (const PlainJson& entry : parent.value(key, PlainJson::array()))
    if (entry.is_string()) strings.push_back(entry.get<std::string>());
  return strings;
}

PlainJson Object(const PlainJson& parent, const char* key) {
  const PlainJson child = parent.value(key, PlainJson::object());
  return child.is_object() ? child : PlainJson::object();
}

// Where a file lay is no matter: its hash is beside it.
bool IsPlaceOfFile(const std::string& key) {
  return key == "profile.file" || key == "trace.file" ||
         (key.starts_with("trace.files.") && key.ends_with(".file"));
}

// "/trace/gap/mean_s" of a flattened object is "trace.gap.mean_s".
void AddIdentity(const std::string& prefix, const PlainJson& value,
                 std::map<std::string, std::string>* identity) {
  if (!value.is_structured()) {
    (*identity)[prefix] = value.is_string() ? value.get<std::string>() : value.dump();
    return;
  }
  const PlainJson leaves = value.flatten();
  for (const auto& [path, leaf] : leaves.items()) {
    std::string key = prefix + path;
    std::replace(key.begin(), key.end(), '/', '.');
    if (key.starts_with('.')) key.erase(0, 1);
    if (!IsPlaceOfFile(key))
      (*identity)[key] = leaf.is_string() ? leaf.get<std::string>() : leaf.dump();
  }
}

std::map<std::string, std::string> IdentityOf(const PlainJson& manifest, bool simulated) {
  std::map<std::string, std::string> identity;
  PlainJson experiment = Object(manifest, "experiment");
  for (const char* key : {"trials", "most_trials", "seed", "name", "baseline", "gate"})
    experiment.erase(key);
  AddIdentity("", experiment, &identity);
  for (const PlainJson& policy : manifest.value("policies", PlainJson::array())) {
    if (policy.is_object()) AddIdentity("policy." + policy.value("name", ""), policy, &identity);
  }
  for (const auto& [key, value] : manifest.items())
    if (!Incidental().contains(key)) AddIdentity(key, value, &identity);
  // By their names: where a file lay is no matter.
  const PlainJson files = Object(manifest, "files");
  for (const auto& [file, hash] : files.items())
    AddIdentity("files." + std::filesystem::path(file).filename().string(), hash, &identity);
  const PlainJson build = Object(manifest, "build"), host = Object(manifest, "host");
  for (const char* key : {"git_commit", "build_type", "sanitizers", "binary"})
    if (build.contains(key)) AddIdentity(std::string("build.") + key, build[key], &identity);
  if (simulated) return identity;  // A simulated machine is the experiment's.
  for (const char* key : {"name", "cpu", "cpus", "topology"})
    if (host.contains(key)) AddIdentity(std::string("host.") + key, host[key], &identity);
  return identity;
}

// nullopt: it had a fixed number of them.
std::optional<SequentialTrials> SequentialOf(const PlainJson& manifest,
                                             const PlainJson& experiment) {
  const PlainJson trials = experiment.value("trials", PlainJson());
  const auto until =
      trials.is_string() ? ParseTrialsUntil(trials.get<std::string>()) : std::nullopt;
  if (!until) return std::nullopt;
  SequentialTrials sequential{.until = *until, .most = experiment.value("most_trials", 0)};
  const PlainJson stopped = Object(manifest, "stopped");
  if (stopped.empty()) return sequential;
  sequential.stopped = true;
  sequential.trials = stopped.value("trials", 0);
  sequential.widest = stopped.value("widest", "");
  if (const PlainJson within = stopped.value("within", PlainJson()); within.is_number())
    sequential.within = within.get<double>();
  return sequential;
}

// The planned cells; none if the experiment does not say.
std::vector<CellKey> PlannedBy(const PlainJson& experiment,
                               const std::optional<SequentialTrials>& sequential) {
  const int trials = !sequential           ? experiment.value("trials", 0)
                     : sequential->stopped ? sequential->trials
                                           : sequential->most;
  std::vector<CellKey> planned;
  for (int trial = 1; trial <= trials; ++trial) {
    for (const std::string& policy : Strings(experiment, "policies")) {
      for (const std::string& name : Strings(experiment, "elasticity")) {
        CellKey key{policy, Elasticity::kMalleable, trial};
        if (ParseElasticity(name, &key.elasticity)) planned.push_back(key);
      }
    }
  }
  return planned;
}

std::vector<GateConfig> GatesIn(const std::filesystem::path& file, const PlainJson& experiment) {
  std::vector<GateConfig> gates;
  for (const PlainJson& one : experiment.value("gate", PlainJson::array())) {
    GateSection().Read(TomlTable::FromJson(file, nlohmann::ordered_json(one)),
                       &gates.emplace_back());
  }
  return gates;
}

std::vector<std::string> RecordsOf(const PlainJson& experiment) {
  std::vector<std::string> files;
  const PlainJson records = Object(experiment, "records");
  for (const auto& [name, written] : records.items()) {
    if (written.is_boolean() && written.get<bool>())
      files.push_back(name == "timeline" ? "timeline.json" : name + ".csv");
  }
  return files;
}

std::vector<size_t> TracesOf(const PlainJson& manifest) {
  std::vector<std::string> drawn;  // By trial.
  for (const char* what : {"traces", "requests", "clients"}) {
    const PlainJson of_trials = manifest.value(what, PlainJson::array());
    drawn.resize(std::max(drawn.size(), of_trials.size()));
    for (size_t trial = 0; trial < of_trials.size(); ++trial)
      drawn[trial] += of_trials[trial].dump();
  }
  std::vector<size_t> hashes;
  for (const std::string& of_trial : drawn) hashes.push_back(std::hash<std::string>()(of_trial));
  return hashes;
}

// What --resume=anyway and --redo-marked have left in the manifest.
void ReadLaterWork(const PlainJson& manifest, ComparedRun* run) {
  for (const PlainJson& resumed : manifest.value("resumed", PlainJson::array())) {
    if (!resumed.is_object()) continue;
    for (std::string& difference : Strings(resumed, "differences"))
      run->mixed.push_back(std::move(difference));
  }
  for (const PlainJson& redone : manifest.value("redone", PlainJson::array())) {
    if (!redone.is_object()) continue;
    auto& cells = redone.value("status", "done") == "running" ? run->redo_killed : run->redone;
    for (std::string& cell : Strings(redone, "cells")) cells.push_back(std::move(cell));
  }
}

bool HasCells(const std::filesystem::path& run) {
  const std::vector<std::filesystem::path> points = PointFolders(run);
  return std::any_of(points.begin(), points.end(),
                     [](const auto& point) { return !WholeCells(point).empty(); });
}

std::vector<std::filesystem::path> RunsBelow(const std::filesystem::path& parent) {
  std::vector<std::filesystem::path> runs;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored))
    if (entry.is_directory() && HasCells(entry.path())) runs.push_back(entry.path());
  std::sort(runs.begin(), runs.end());
  return runs;
}

[[noreturn]] void RefuseFolder(const std::filesystem::path& path) {
  std::set<std::string> experiments;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (entry.is_directory() && !RunsBelow(entry.path()).empty())
      experiments.insert(entry.path().string());
  if (!experiments.empty()) {
    throw InputError({"command line", 0, path.string(), "runs of several experiments are there",
                      fmt::format("{}", fmt::join(experiments, ", "))});
  }
  throw InputError({"command line", 0, path.string(), "no finished cell of a run is there",
                    "a run (results/<experiment>/<run>), or an experiment's folder or name for its "
                    "newest one"});
}

// An array's whole value is told once, not each of its elements that moved.
std::string Shortened(const std::string& value) {
  constexpr size_t kMost = 40;
  return value.size() <= kMost ? value : value.substr(0, kMost - 3) + "...";
}

}  // namespace

size_t ComparedRun::TraceOf(int trial) const {
  const auto index = static_cast<size_t>(trial) - 1;
  return index < traces.size() ? traces[index] : 0;
}

bool ComparedRun::RepeatsOneTrace() const {
  return traces.size() > 1 && std::set<size_t>(traces.begin(), traces.end()).size() == 1;
}

double ComparedRun::LevelOfIntervals() const {
  return sequential ? LevelOfLook(TrialLooks(sequential->most).size()) : kLevelThatDecides;
}

ComparedRun ReadComparedRun(const std::filesystem::path& path) {
  ComparedRun run;
  run.path = path;
  const std::optional<PlainJson> manifest = ReadManifest(path);
  if (!manifest) return run;
  try {
    const PlainJson experiment = Object(*manifest, "experiment");
    run.status = manifest->value("status", "");
    run.simulated = ParseBackend(experiment.value("backend", "")) == Backend::kSimulated;
    if (!run.simulated) run.actuator = Object(experiment, "machine").value("actuator", "");
    run.profile =
        std::filesystem::path(Object(experiment, "profile").value("file", "")).filename().string();
    for (const char* key : {"hardware_threads", "core_kinds"})
      if (std::string text = Object(experiment, "machine").value(key, ""); !text.empty())
        run.unlike_cores.push_back(std::move(text));
    for (const PlainJson& policy : manifest->value("policies", PlainJson::array()))
      if (policy.is_object()) run.policies.push_back(policy.value("name", ""));
    if (run.policies.empty()) run.policies = Strings(experiment, "policies");
    run.baseline = experiment.value("baseline", "");
    run.sequential = SequentialOf(*manifest, experiment);
    run.planned = PlannedBy(experiment, run.sequential);
    run.gates = GatesIn(path / kManifestName, experiment);
    run.records = RecordsOf(experiment);
    run.order = Strings(*manifest, "order");
    run.profile_doubts = Strings(*manifest, "profile_doubts");
    ReadLaterWork(*manifest, &run);
    for (const PlainJson& device : experiment.value("device_profiles", PlainJson::array()))
      run.devices.push_back(device.value("device", "") + ", " + device.value("provenance", ""));
    run.traces = TracesOf(*manifest);
    run.identity = IdentityOf(*manifest, run.simulated);
  } catch (const PlainJson::exception& error) {
    throw InputError({(path / kManifestName).string(), 0, "", error.what(),
                      "the manifest.json that `cosched run` wrote"});
  }
  run.has_manifest = true;
  return run;
}

FoundRuns FindRuns(const std::vector<std::filesystem::path>& paths) {
  FoundRuns found;
  for (const std::filesystem::path& path : paths) {
    if (HasCells(path)) {
      found.runs.push_back(path);
      continue;
    }
    std::vector<std::filesystem::path> below = RunsBelow(path);
    if (below.empty() && path.is_relative()) below = RunsBelow("results" / path);
    if (below.empty()) RefuseFolder(path);
    found.runs.push_back(below.back());
    if (below.size() > 1) {
      found.notes.push_back(
          fmt::format("{} has {} runs: the newest, {}, is taken; name others to see them",
                      path.string(), below.size(), below.back().filename().string()));
    }
  }
  return found;
}

std::vector<std::string> DifferencesOf(const ComparedRun& a, const ComparedRun& b) {
  std::set<std::string> keys;
  for (const ComparedRun* run : {&a, &b})
    for (const auto& [key, value] : run->identity) keys.insert(key);
  const auto value = [](const ComparedRun& run, const std::string& key) {
    const auto found = run.identity.find(key);
    return found == run.identity.end() ? std::string("nothing") : Shortened(found->second);
  };
  std::vector<std::string> differences;
  for (const std::string& key : keys) {
    const auto of_a = a.identity.find(key), of_b = b.identity.find(key);
    const bool both = of_a != a.identity.end() && of_b != b.identity.end();
    if (both && of_a->second == of_b->second) continue;
    differences.push_back(fmt::format("{}: {} in A, {} in B", key, value(a, key), value(b, key)));
  }
  if (!a.has_manifest || !b.has_manifest) differences.push_back("a manifest.json is missing");
  return differences;
}

std::string DifferencesText(const std::vector<std::string>& differences) {
  const size_t shown = std::min(differences.size(), kMostDifferences);
  std::string text =
      fmt::format("{}", fmt::join(differences.begin(), differences.begin() + shown, "; "));
  if (differences.size() > shown) text += fmt::format("; and {} more", differences.size() - shown);
  return text;
}

int CommonTraces(const ComparedRun& a, const ComparedRun& b) {
  return static_cast<int>(std::count_if(a.traces.begin(), a.traces.end(), [&b](size_t trace) {
    return std::find(b.traces.begin(), b.traces.end(), trace) != b.traces.end();
  }));
}

bool SameRecords(const ComparedRun& a, const CellKey& of_a, const ComparedRun& b,
                 const CellKey& of_b) {
  const std::filesystem::path first = PlainOrCompressed(CellFolder(a.path, of_a) / "jobs.csv"),
                              second = PlainOrCompressed(CellFolder(b.path, of_b) / "jobs.csv");
  std::error_code error;
  const auto size = std::filesystem::file_size(first, error);
  if (error || size != std::filesystem::file_size(second, error) || error) return false;
  return FileBytes(first) == FileBytes(second);
}

bool IsCopy(const ComparedRun& a, const ComparedRun& b) {
  const std::vector<CellKey> cells = WholeCells(a.path);
  if (cells.empty() || cells != WholeCells(b.path)) return false;
  return std::all_of(cells.begin(), cells.end(),
                     [&](const CellKey& key) { return SameRecords(a, key, b, key); });
}

}  // namespace cosched
