#include "experiments/launch/slurm.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "engine/base/cpu_description.h"
#include "engine/base/file_bytes.h"
#include "experiments/analysis/metrics.h"
#include "experiments/config/kernel_rates_choice.h"
#include "experiments/config/option_refusal.h"
#include "experiments/launch/local_cells.h"
#include "experiments/launch/progress.h"
#include "experiments/launch/run_conditions.h"
#include "experiments/launch/run_folder.h"
#include "experiments/launch/slurm_job.h"
#include "experiments/os/scratch_folder.h"
#include "experiments/os/shell_word.h"
#include "experiments/records/manifest_file.h"
#include "experiments/records/output_file.h"

namespace cosched {
namespace {

constexpr int kAttempts = 2;
constexpr size_t kMostTasks =
    1000;  // Slurm's own default limit of an array (MaxArraySize) is 1001.
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr int kMostLooks = 20;  // For a file of another node's.

std::filesystem::path RunOfTask(const std::filesystem::path& cells_file) {
  return cells_file.parent_path().parent_path();
}

[[noreturn]] void RefuseTask(const std::filesystem::path& cells_file, const std::string& problem) {
  RefuseOption("--task", fmt::format("{}: {}", cells_file.string(), problem),
               "what `cosched run --launcher slurm` has written, in its array");
}

// Tenants of cells that measure are moved as the run was planned.
void CheckActuators(const Sweep& sweep, const std::filesystem::path& cells_file) {
  for (const SweepPoint& point : sweep.points) {
    if (point.config.backend == Backend::kSimulated) continue;
    const std::optional<nlohmann::ordered_json> manifest =
        ReadManifest(PointFolder(RunOfTask(cells_file), point));
    if (!manifest) RefuseTask(cells_file, "is in no run's folder");
    const std::string planned =
        manifest->at("experiment").at("machine").value("actuator", std::string());
    if (planned == ToString(point.config.actuator)) continue;
    RefuseOption("--task",
                 fmt::format("this node moves tenants by {}, the run was planned for {}",
                             ToString(point.config.actuator), planned),
                 "nodes with equal rights, or machine.actuator in the experiment");
  }
}

// That another node has written, and that may be seen here a moment later.
std::string AwaitText(const std::filesystem::path& file) {
  for (int looks = 0; looks < kMostLooks; ++looks) {
    if (std::string text = FileBytes(file); !text.empty()) return text;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return "";
}

class Launch {
 public:
  Launch(const Sweep& sweep, const SlurmOptions& options, std::vector<SweepCell> cells)
      : sweep_(sweep),
        options_(options),
        cells_(std::move(cells)),
        progress_(sweep.cells.size() - cells_.size(), sweep.cells.size()) {}

  HarnessResult Run() {
    const std::filesystem::path folder = options_.run / "slurm";
    std::filesystem::create_directories(folder);
    const int before = RefuseWhileListed(folder);
    std::vector<SweepCell> missing = cells_;
    for (int attempt = 1; attempt <= kAttempts && !missing.empty(); ++attempt) {
      if (attempt > 1)
        fmt::print(stderr, "{} {} failed and go to Slurm once more\n", missing.size(),
                   missing.size() == 1 ? "cell" : "cells");
      const auto tell = [this] {
        progress_.OnCellsDone(sweep_.cells.size() - MissingCells(options_.run, sweep_).size());
      };
      const std::string name = fmt::format("attempt-{}", before + attempt);
      const SlurmJob job = Submit(folder, name, missing);
      WriteFileWhole(folder / (name + ".job"), job.id() + "\n");
      if (!job.Wait(tell)) return {.interrupted = true};
      missing = MissingCells(options_.run, sweep_);
    }
    for (const SweepCell& cell : missing) RecordFailed(cell);
    return ResultOf(options_.run, sweep_, cells_);
  }

 private:
  // Two arrays must not write the same cells. Returns how many attempts there were.
  static int RefuseWhileListed(const std::filesystem::path& folder) {
    int attempts = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".cells") ++attempts;
      if (entry.path().extension() != ".job") continue;
      std::string id = FileBytes(entry.path()), why;
      id.erase(id.find_last_not_of('\n') + 1);
      const std::optional<bool> listed = SlurmJob(id).IsListed(&why);
      if (!listed) RefuseSlurm(fmt::format("whether job {} of this run still runs: {}", id, why));
      if (*listed) {
        RefuseOption("--resume", fmt::format("Slurm's job {} of this run has not ended", id),
                     fmt::format("once it has; scancel {} ends it", id));
      }
    }
    return attempts;
  }

  SlurmJob Submit(const std::filesystem::path& folder, const std::string& name,
                  const std::vector<SweepCell>& cells) {
    const size_t tasks = std::min(cells.size(), kMostTasks);
    std::string list = fmt::format("{}\n", tasks);
    for (const SweepCell& cell : cells) {
      const auto same = [&cell](const SweepCell& other) {
        return other.point == cell.point && other.key == cell.key;
      };
      const auto index = std::find_if(sweep_.cells.begin(), sweep_.cells.end(), same);
      list += fmt::format("{}\n", index - sweep_.cells.begin());
    }
    WriteFileWhole(folder / (name + ".cells"), list);
    WriteFileWhole(folder / (name + ".sh"),
                   fmt::format("#!/bin/sh\nexec {} --task {}\n", options_.command,
                               ShellQuoted((folder / (name + ".cells")).string())));
    // A cell that measures has its node for itself.
    const std::string file = (folder / name).string();
    return SlurmJob::Submit(
        {fmt::format("--array=0-{}{}", tasks - 1,
                     options_.at_a_time > 0 ? fmt::format("%{}", options_.at_a_time) : ""),
         "--ntasks=1", AllSimulated(sweep_) ? "--cpus-per-task=1" : "--exclusive", "--no-requeue",
         "--job-name=cosched " + sweep_.name(), "--output=" + file + ".%a.log", file + ".sh"});
  }

  void RecordFailed(const SweepCell& cell) const {
    const SweepPoint& point = sweep_.points[cell.point];
    CellRecords records(PointFolder(options_.run, point), cell.key, point.config.cores,
                        point.config.records);
    records.Finish("failed", fmt::format("its Slurm task did not end with whole records, {} times; "
                                         "the run's folder slurm/ has what it said",
                                         kAttempts));
  }

  const Sweep& sweep_;
  const SlurmOptions& options_;
  const std::vector<SweepCell> cells_;
  ProgressLine progress_;
};

}  // namespace

HarnessResult ResultOf(const std::filesystem::path& run, const Sweep& sweep,
                       const std::vector<SweepCell>& cells) {
  HarnessResult result;
  for (const SweepCell& cell : cells) {
    try {
      const CellSummary summary = Summarize(PointFolder(run, sweep.points[cell.point]), cell.key);
      ++(summary.status != "done" ? result.failed
         : summary.failed > 0     ? result.with_failures
                                  : result.done);
    } catch (const InputError&) {
      ++result.failed;
    }
  }
  return result;
}

std::vector<SweepCell> MissingCells(const std::filesystem::path& run, const Sweep& sweep) {
  std::vector<std::vector<CellKey>> whole;  // Each sorted.
  for (const SweepPoint& point : sweep.points) whole.push_back(WholeCells(PointFolder(run, point)));
  std::vector<SweepCell> missing;
  for (const SweepCell& cell : sweep.cells) {
    const std::vector<CellKey>& there = whole[cell.point];
    if (!std::binary_search(there.begin(), there.end(), cell.key)) missing.push_back(cell);
  }
  return missing;
}

std::string NodeFactsOfThisMachine() {
  const nlohmann::ordered_json facts = {
      {"topology_xml", Topology::ThisMachine().Xml()},
      {"actuator", ToString(BestActuator())},
      {"cpu", ThisCpuModel()},
      {"kernel", ThisKernel()},
      {"kernel_rates", ToString(ChosenKernelRates(kMeasuredRates).value_or(KernelRates{}))}};
  return facts.dump() + "\n";
}

std::optional<NodeFacts> NodeOfSlurm(const std::string& command,
                                     const std::filesystem::path& results) {
  SlurmJob::RequireSlurm();
  std::filesystem::create_directories(results);
  const ScratchFolder scratch(std::filesystem::absolute(results), ".node");
  const std::string folder = scratch.path().string();
  WriteFileWhole(folder + "/node.sh", fmt::format("#!/bin/sh\nexec {} --machine-to {}\n", command,
                                                  ShellQuoted(folder + "/node.json")));
  fmt::print(stderr, "waits for a node of Slurm's, to plan for what it is\n");
  const SlurmJob job = SlurmJob::Submit({"--ntasks=1", "--exclusive", "--no-requeue",
                                         "--job-name=cosched: what a node is",
                                         "--output=" + folder + "/node.log", folder + "/node.sh"});
  if (!job.Wait([] {})) return std::nullopt;
  const auto facts = nlohmann::json::parse(AwaitText(folder + "/node.json"), nullptr, false);
  const std::optional<Actuator> actuator =
      facts.is_object() ? ParseActuator(facts.value("actuator", "")) : std::nullopt;
  if (!actuator) RefuseSlurm("no node tells what it is: " + FileBytes(folder + "/node.log"));
  return NodeFacts{.topology = Topology::FromXmlText(facts.value("topology_xml", "")),
                   .actuator = *actuator,
                   .cpu = facts.value("cpu", ""),
                   .kernel = facts.value("kernel", ""),
                   .kernel_rates = facts.value("kernel_rates", "")};
}

std::optional<NodeFacts> NodePlannedFor(const std::filesystem::path& run) {
  const std::optional<nlohmann::ordered_json> manifest = ReadManifest(run);
  if (!manifest || !manifest->contains("host")) return std::nullopt;
  const nlohmann::ordered_json& host = (*manifest)["host"];
  if (!host.contains("topology_xml") || !host["topology_xml"].is_string()) return std::nullopt;
  NodeFacts node{.topology = Topology::FromXmlText(host["topology_xml"]),
                 .cpu = host.value("cpu", ""),
                 .kernel = host.value("kernel", ""),
                 .kernel_rates = ""};
  for (const std::filesystem::path& folder : PointFolders(run)) {
    const std::optional<nlohmann::ordered_json> point = ReadManifest(folder);
    const auto machine = point ? point->value("experiment", nlohmann::ordered_json::object())
                                     .value("machine", nlohmann::ordered_json::object())
                               : nlohmann::ordered_json::object();
    if (machine.contains("kernel_rates") && machine["kernel_rates"].is_string())
      node.kernel_rates = machine["kernel_rates"];
    node.actuator = ParseActuator(machine.value("actuator", "")).value_or(node.actuator);
  }
  return node;
}

NodeFacts NodeOfTask(const std::filesystem::path& cells_file) {
  std::optional<NodeFacts> node = NodePlannedFor(RunOfTask(cells_file));
  if (!node) RefuseTask(cells_file, "is in no run's folder");
  return std::move(*node);
}

HarnessResult RunBySlurm(const Sweep& sweep, const SlurmOptions& options) {
  SlurmJob::RequireSlurm();
  return Launch(sweep, options, MissingCells(options.run, sweep)).Run();
}

std::vector<SweepCell> CellsOfTask(const Sweep& sweep, const std::filesystem::path& cells_file) {
  const auto refuse = [&cells_file](const std::string& problem) {
    RefuseTask(cells_file, problem);
  };
  const std::filesystem::path run = RunOfTask(cells_file);
  if (!IsRunOf(run, sweep)) refuse("is not of this experiment, or the experiment has changed");
  CheckActuators(sweep, cells_file);
  const char* id = std::getenv("SLURM_ARRAY_TASK_ID");
  size_t task = 0;
  if (id == nullptr || std::from_chars(id, id + std::strlen(id), task).ec != std::errc())
    refuse("there is no SLURM_ARRAY_TASK_ID");
  std::ifstream stream(cells_file);
  size_t tasks = 0;
  if (!(stream >> tasks) || task >= tasks) refuse("does not have this task");
  std::vector<SweepCell> cells;
  size_t index = 0;
  for (size_t line = 0; stream >> index; ++line) {
    if (index >= sweep.cells.size()) refuse("names a cell that is not there");
    if (line % tasks == task) cells.push_back(sweep.cells[index]);
  }
  return cells;
}

}  // namespace cosched
