#include "experiments/launch/run_conditions.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/cpu_description.h"
#include "engine/base/file_bytes.h"
#include "engine/kernels/kernel.h"
#include "experiments/launch/build_info.h"
#include "experiments/records/content_hash.h"
#include "workloads/model_from_file.h"

namespace cosched {
namespace {

using Json = nlohmann::ordered_json;
using Paths = std::set<std::filesystem::path>;

constexpr size_t kCommitDigits = 10;  // As a person reads it.

std::string FirstLine(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

Json BuildJson() {
  const BuildInfo& build = GetBuildInfo();
  return {{"version", build.version},
          {"git_commit", build.git_commit},
          {"compiler", build.compiler},
          {"build_type", build.build_type},
          {"sanitizers", build.sanitizers},
          {"onednn", build.onednn},
          {"eigen", build.eigen},
          {"hwloc", build.hwloc},
          {"binary", ContentHash("/proc/self/exe")}};
}

Json HostJson(const RunContext& context) {
  // For nodes of Slurm's, whichever machine submits.
  const bool elsewhere = !context.cpu.empty();
  utsname names{};
  uname(&names);
  const std::string cpu = std::to_string(std::max(0, context.topology.Cpus().First()));
  const std::string governor =
      elsewhere ? "" : FirstLine("/sys/devices/system/cpu/cpu" + cpu + "/cpufreq/scaling_governor");
  return {{"name", elsewhere ? "nodes of Slurm's" : names.nodename},
          {"kernel", elsewhere ? context.kernel : ThisKernel()},
          {"cpu", elsewhere ? context.cpu : ThisCpuModel()},
          {"kernels", elsewhere ? "the best of each node" : KernelTarget()},
          {"cpus", context.topology.Cpus().ToString()},
          {"topology", context.topology.Summary()},
          {"governor", governor.empty() ? "unknown" : governor},
          {"scheduling", context.scheduling},
          {"topology_xml", context.topology.Xml()}};
}

void AddIfFile(const std::filesystem::path& path, Paths* paths) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) paths->insert(path.lexically_normal());
}

// The words of the command that are files, as they are or below the folder in which it runs.
void AddProgram(const ExternalPolicy& policy, Paths* paths) {
  std::istringstream words(policy.command);
  for (std::string word; words >> word;) {
    std::erase_if(word, [](char c) { return c == '"' || c == '\''; });
    if (!word.empty()) AddIfFile(policy.directory / word, paths);
  }
}

// The file, and those beside it which it names: tensors may have files of their own.
Paths FilesOfModel(const std::string& model) {
  Paths paths;
  const std::filesystem::path file = model.substr(model.find(':') + 1);
  AddIfFile(file, &paths);
  std::vector<std::filesystem::path> beside;
  std::error_code error;
  std::filesystem::directory_iterator entry(file.parent_path(), error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != file.filename()) beside.push_back(entry->path());
  }
  if (beside.empty()) return paths;
  const std::string bytes = FileBytes(file);
  for (const std::filesystem::path& other : beside) {
    if (bytes.find(other.filename().string()) != std::string::npos) AddIfFile(other, &paths);
  }
  return paths;
}

// models: what is known of them already; each is read once.
Paths FilesOf(const ExperimentConfig& config, std::map<std::string, Paths>* models) {
  Paths paths;
  if (config.profile) paths.insert(config.profile->file);
  if (config.machine.ends_with(".xml"))
    AddIfFile(std::filesystem::absolute(config.file.parent_path() / config.machine), &paths);
  for (const std::string& policy : config.policies) {
    const auto found = config.external_policies.find(policy);
    if (found == config.external_policies.end()) continue;
    if (!found->second->uses.empty()) continue;
    if (found->second->library.empty()) {
      AddProgram(*found->second, &paths);
    } else {
      AddIfFile(found->second->library, &paths);
    }
  }
  if (config.backend == Backend::kSimulated) return paths;
  for (const WorkloadConfig& workload : config.workloads) {
    const ClassifySettings& classify = workload.spec.pipeline.classify;
    for (const std::string& model : {workload.spec.model, classify.model}) {
      if (!IsModelFileName(model)) continue;
      const auto [known, is_new] = models->try_emplace(model);
      if (is_new) known->second = FilesOfModel(model);
      paths.insert(known->second.begin(), known->second.end());
    }
    for (const std::string& folder : {workload.spec.data_directory, classify.images}) {
      if (!folder.empty()) paths.insert(folder);
    }
  }
  return paths;
}

std::string Text(const Json& section, const char* key) {
  const Json value = section.is_object() ? section.value(key, Json()) : Json();
  if (value.is_null()) return "not recorded";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  return text.empty() ? "none" : text;
}

std::string Commit(const Json& build) {
  const std::string text = Text(build, "git_commit");
  const size_t dirty = text.find('-');
  return text.substr(0, kCommitDigits) + (dirty == std::string::npos ? "" : text.substr(dirty));
}

struct Condition {
  const char* key;
  const char* name;
};

void Compare(const Json& then, const Json& now, std::initializer_list<Condition> conditions,
             std::vector<std::string>* differences) {
  for (const Condition& condition : conditions) {
    const std::string before = Text(then, condition.key), after = Text(now, condition.key);
    if (before != after)
      differences->push_back(fmt::format("{}: {} -> {}", condition.name, before, after));
  }
}

void CompareBinaries(const Json& then, const Json& now, std::vector<std::string>* differences) {
  if (Text(then, "git_commit") != Text(now, "git_commit")) {
    differences->push_back(fmt::format("cosched: commit {} -> {}", Commit(then), Commit(now)));
  } else if (Text(then, "binary") != Text(now, "binary")) {
    differences->push_back(
        fmt::format("cosched: another binary of the same commit, {}", Commit(now)));
  }
  Compare(then, now,
          {{"compiler", "compiler"},
           {"build_type", "build type"},
           {"sanitizers", "sanitizers"},
           {"onednn", "oneDNN"},
           {"hwloc", "hwloc"}},
          differences);
}

void CompareFiles(const Json& then, const Json& now, std::vector<std::string>* differences) {
  const Json before = then.is_object() ? then : Json::object();
  for (const auto& [file, hash] : now.items()) {
    if (!before.contains(file)) {
      differences->push_back(file + ": not among the files that it was begun with");
    } else if (before[file] != hash) {
      differences->push_back(file + ": its content has changed");
    }
  }
  for (const auto& [file, hash] : before.items()) {
    if (!now.contains(file)) differences->push_back(file + ": is no longer there");
  }
}

}  // namespace

std::string ThisKernel() {
  utsname names{};
  uname(&names);
  return fmt::format("{} {} {} {}", names.sysname, names.release, names.version, names.machine);
}

RunConditions::RunConditions(const Sweep& sweep, const RunContext& context)
    : build_(BuildJson()), host_(HostJson(context)), files_(Json::object()) {
  std::map<std::string, Paths> models;
  for (const SweepPoint& point : sweep.points) {
    Json& files = of_points_.emplace_back(Json::object());
    for (const std::filesystem::path& path : FilesOf(point.config, &models)) {
      const std::string name = path.string();
      if (!files_.contains(name)) files_[name] = ContentHash(path);
      files[name] = files_[name];
    }
  }
}

Json RunConditions::OfPoint(size_t index) const {
  return {{"build", build_}, {"host", host_}, {"files", of_points_.at(index)}};
}

Json RunConditions::OfAll() const {
  return {{"build", build_}, {"host", host_}, {"files", files_}};
}

Json WithoutConditions(Json experiment) {
  if (experiment.contains("machine")) {
    experiment["machine"].erase("actuator");
    experiment["machine"].erase("kernel_rates");
    experiment["machine"].erase("hardware_threads");
    experiment["machine"].erase("core_kinds");
  }
  if (!experiment.contains("profile")) return experiment;
  for (const char* key : {"fnv1a", "source", "host", "version", "date", "measured_cores"})
    experiment["profile"].erase(key);
  return experiment;
}

std::vector<std::string> Differences(const Json& then, const Json& now, bool simulated) {
  std::vector<std::string> differences;
  CompareBinaries(then.value("build", Json()), now.value("build", Json()), &differences);
  CompareFiles(then.value("files", Json()), now.value("files", Json::object()), &differences);
  if (simulated) return differences;
  Compare(then.value("host", Json()), now.value("host", Json()),
          {{"name", "host"},
           {"kernel", "kernel"},
           {"cpu", "CPU"},
           {"kernels", "kernels"},
           {"topology", "topology"},
           {"governor", "governor"},
           {"scheduling", "scheduling"}},
          &differences);
  const auto machine = [](const Json& of) {
    return of.value("experiment", Json::object()).value("machine", Json());
  };
  Compare(machine(then), machine(now), {{"actuator", "actuator"}, {"kernel_rates", "kernel rates"}},
          &differences);
  return differences;
}

}  // namespace cosched
