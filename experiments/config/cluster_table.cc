#include "experiments/config/cluster_table.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "experiments/hosts/simulation/cluster_pipeline.h"

namespace cosched {
namespace {

using Machines = ClusterSettings::Group;
using ClusterKey = SectionKey<ClusterSettings>;
using MachinesKey = SectionKey<Machines>;

constexpr double kPerSecond = 1e6;            // Microseconds.
constexpr double kBytesPerGigabit = 1e9 / 8;  // As network cards have them.
constexpr int kMostMachines = 10'000, kMostCores = 10'000;
constexpr int64_t kMostCoresInAll = 1 << 16;

// A number in other units than the member has: number = member x units.
ClusterKey InUnits(const std::string& name, double ClusterSettings::*member, double units,
                   double most, const std::string& meaning) {
  return ClusterKey::Read(
      {.name = name,
       .type = "number",
       .fallback = {},
       .range = NumberRange(0, most),
       .meaning = meaning},
      [=](const ClusterKey& key, const TomlTable& table, ClusterSettings* cluster) {
        cluster->*member = table.Number(key.help.name, cluster->*member * units, 0, most) / units;
      },
      [=](const ClusterSettings& cluster) { return cluster.*member * units; });
}

void ReadMachines(const ClusterKey& key, const TomlTable& table, ClusterSettings* cluster) {
  for (const TomlTable& group : table.Tables(key.help.name))
    ClusterMachinesSection().Read(group, &cluster->groups.emplace_back());
  if (cluster->groups.empty()) table.Fail(key.help.name, "are none", "one entry or more");
}

nlohmann::ordered_json MachinesJson(const ClusterSettings& cluster) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Machines& group : cluster.groups)
    json.push_back(ClusterMachinesSection().ToJson(group));
  return json;
}

}  // namespace

const Section<ClusterSettings>& ClusterSection() {
  static const Section<ClusterSettings> section(
      "[simulation.cluster]", "machines that a simulated pipeline has for itself",
      {ClusterKey::Read({.name = "machines",
                         .type = "list",
                         .fallback = "required",
                         .range = "tables",
                         .meaning = "one or more [[simulation.cluster.machines]]"},
                        ReadMachines, MachinesJson),
       InUnits("link_latency_us", &ClusterSettings::link_latency_s, kPerSecond, 1e9,
               "of what one machine sends another"),
       InUnits("link_gbit_per_s", &ClusterSettings::link_bytes_per_s, 1 / kBytesPerGigabit, 1e6,
               "of each transfer by itself; 0: no limit"),
       InUnits("store_gbit_per_s", &ClusterSettings::store_bytes_per_s, 1 / kBytesPerGigabit, 1e6,
               "of all that use the store at a time, divided equally; 0: no limit")});
  return section;
}

const Section<Machines>& ClusterMachinesSection() {
  static const Section<Machines> section(
      "[[simulation.cluster.machines]]", "equal machines of a simulated pipeline",
      {MachinesKey::Integer("count", &Machines::count, 1, kMostMachines, "how many they are"),
       MachinesKey::Integer("cores", &Machines::cores, 1, kMostCores,
                            "calls that compute at once, of each"),
       MachinesKey::Integer("waiting_calls", &Machines::waiting_lanes, 0, kMostCores,
                            "of each, of stages that wait; 0: as many as these allow"),
       MachinesKey::Read(
           {.name = "stages",
            .type = "list",
            .fallback = "[]",
            .range = "names of stages; [] = all",
            .meaning = "what they do"},
           [](const MachinesKey& key, const TomlTable& table, Machines* group) {
             group->stages = table.Strings(key.help.name, std::vector<std::string>());
           },
           [](const Machines& group) { return group.stages; })});
  return section;
}

void CheckCluster(const TomlTable& root, const ExperimentConfig& config) {
  if (!config.simulation.cluster) return;
  const TomlTable table = root.Table("simulation");
  if (config.backend != Backend::kSimulated) {
    table.Fail("cluster",
               fmt::format("has machines that are only simulated, but backend is \"{}\"",
                           ToString(config.backend)),
               "only with backend = \"simulated\"");
  }
  if (config.workloads.size() != 1 || !config.workloads.front().spec.IsPipeline()) {
    table.Fail("cluster",
               config.workloads.size() == 1
                   ? "is of pipelines, but the workload is none"
                   : fmt::format("is of one pipeline, but there are {} workloads",
                                 config.workloads.size()),
               "one [[workload]], with mode = \"pipeline\"");
  }
  const TenantSpec& spec = config.workloads.front().spec;
  const ClusterSettings& cluster = *config.simulation.cluster;
  int64_t cores = 0;
  for (const Machines& group : cluster.groups) cores += int64_t{group.count} * group.cores;
  if (cores > kMostCoresInAll) {
    table.Fail("cluster", fmt::format("has {} cores", cores),
               fmt::format("{} or fewer in all", kMostCoresInAll));
  }
  try {
    const ClusterPipeline made(
        SimulatedPipelineSettings(spec.pipeline, CoresOf(cluster),
                                  config.profile->profile->Find(ProgramName(spec))->stages),
        cluster);
  } catch (const InputError& error) {
    const InputErrorDetails& details = error.details();
    table.Fail("cluster", details.key + ": " + details.problem, details.allowed);
  }
}

}  // namespace cosched
