#include "experiments/harness/host_factories.h"

#include <utility>

#include "experiments/hosts/cluster_host.h"
#include "experiments/hosts/container_launcher.h"
#include "experiments/hosts/process_host.h"
#include "experiments/hosts/simulation/simulated_host.h"
#include "experiments/hosts/slurm_allocation.h"
#include "policies/placement.h"

namespace cosched {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// The folder that holds a cell's policies: <folder>/<policy>/<elasticity>/<trial>.
std::string RunOf(const std::filesystem::path& cell) {
  return cell.parent_path().parent_path().parent_path().filename();
}

}  // namespace

namespace {

// What hosts of real processes on one machine have in common, whatever their tenants run in. Where a
// cell logs, and whether its policy grants shares, is told with the cell.
ProcessHost::Options OptionsOf(const Topology& topology, const ExperimentConfig& config,
                               const std::string& run) {
  return {.binary = {},
          .log_directory = {},
          .run = run,
          .topology = topology,
          .actuator = config.actuator,
          .memory = config.memory,
          .quota_period = duration_cast<microseconds>(config.quota_period),
          .cores = config.cores,
          .timeouts = config.timeouts,
          .sample_threads = config.interference};
}

ProcessHost::Options OfCell(ProcessHost::Options options, const std::filesystem::path& log_folder,
                            bool shares) {
  if (options.run.empty()) options.run = RunOf(log_folder);
  options.log_directory = log_folder;
  options.shares = shares;
  return options;
}

}  // namespace

HostFactory ProcessHosts(const std::filesystem::path& binary, const Topology& topology,
                         const ExperimentConfig& config, const std::string& run) {
  ProcessHost::Options options = OptionsOf(topology, config, run);
  options.binary = binary;
  return {.make_host = [options](const std::filesystem::path& log_folder, bool shares) {
    return std::make_unique<ProcessHost>(OfCell(options, log_folder, shares));
  }};
}

HostFactory ContainerHosts(const std::filesystem::path& binary, const Topology& topology,
                           const ExperimentConfig& config, const std::string& run) {
  ProcessHost::Options options = OptionsOf(topology, config, run);
  options.client = config.container.client;
  return {.make_host = [binary, options, actuation = config.container.actuation](
                           const std::filesystem::path& log_folder, bool shares) {
    auto launcher = std::make_unique<ContainerLauncher>(ContainerLauncher::Options{
        .binary = binary,
        .groups = GroupSettings::For(options.actuator, shares, options.quota_period),
        .actuation = actuation});
    return std::make_unique<ProcessHost>(OfCell(options, log_folder, shares), std::move(launcher));
  }};
}

HostFactory SlurmHosts(const std::filesystem::path& binary, const Topology& topology,
                       const ExperimentConfig& config, const std::string& run) {
  const std::vector<std::string> names = NodesOfAllocation();
  const std::vector<CpuSet> parts = DivideCores(topology, config.cores, config.nodes);
  std::vector<ClusterHost::Node> nodes;
  for (size_t i = 0; i < parts.size(); ++i) {
    // Beside the step that the harness itself may be.
    nodes.push_back({.name = names.at(i),
                     .cores = parts[i],
                     .launcher = {"srun", "--nodelist=" + names[i], "--nodes=1", "--ntasks=1",
                                  "--overlap", "--cpu-bind=none"}});
  }
  return {.make_host = [binary, nodes, topology, run, actuator = config.actuator,
                        memory = config.memory, timeouts = config.timeouts,
                        interference = config.interference,
                        quota_period = duration_cast<microseconds>(config.quota_period)](
                           const std::filesystem::path& log_folder, bool shares) {
    return std::make_unique<ClusterHost>(
        ClusterHost::Options{.nodes = nodes,
                             .tenants = {.binary = binary,
                                         .log_directory = std::filesystem::absolute(log_folder),
                                         .run = run.empty() ? RunOf(log_folder) : run,
                                         .topology = topology,
                                         .actuator = actuator,
                                         .memory = memory,
                                         .shares = shares,
                                         .quota_period = quota_period,
                                         .timeouts = timeouts,
                                         .sample_threads = interference}});
  }};
}

HostFactory SimulatedHosts(const ExperimentConfig& config) {
  return {
      .make_host =
          [profile = config.profile->profile, model = config.simulation, memory = config.memory,
           timeouts = config.timeouts, quota_period = config.quota_period, records = config.records,
           cores = config.topology->Cpus(),
           topology = config.topology->Within(config.cores)](const std::filesystem::path&, bool) {
            return std::make_unique<SimulatedHost>(
                SimulatedHost::Options{.profile = profile,
                                       .model = model,
                                       .machine = cores,
                                       .topology = topology,
                                       .memory = memory,
                                       .revocation_deadline = timeouts.revocation,
                                       .quota_period = quota_period,
                                       .steps = records.steps,
                                       .resizes = records.resizes,
                                       .samples = records.samples});
          },
      .repeatable = true};
}

HostFactory HostsOf(const std::filesystem::path& binary, const Topology& topology,
                    const ExperimentConfig& config, const std::string& run) {
  switch (config.backend) {
    case Backend::kSimulated: return SimulatedHosts(config);
    case Backend::kContainer: return ContainerHosts(binary, topology, config, run);
    case Backend::kSlurm: return SlurmHosts(binary, topology, config, run);
    case Backend::kHardware: break;
  }
  return ProcessHosts(binary, topology, config, run);
}

}  // namespace cosched
