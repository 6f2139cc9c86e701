#pragma once
// The hosts of an experiment's cells: real processes, containers, or a model of them. Called by who
// runs cells, once for an experiment; what it returns makes a host for each cell.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "experiments/config/experiment_config.h"
#include "experiments/hosts/observed_host.h"

namespace cosched {

struct HostFactory {
  // The host of one cell. log_folder: where its tenants may write; inside the cell's own folder.
  // shares: its policy grants shares.
  std::function<std::unique_ptr<ObservedHost>(const std::filesystem::path& log_folder, bool shares)>
      make_host;
  // A cell that is cut short can be run again to the same bytes, so its rows need not reach the
  // disk as they come.
  bool repeatable = false;
};

// Real processes of this binary (experiments/hosts/process_host.h). run: by whose name `cosched ctl
// run:job` finds the tenants; "" = that of the folder which holds the cell's policies, which in a
// sweep is only a point's.
HostFactory ProcessHosts(const std::filesystem::path& binary, const Topology& topology,
                         const ExperimentConfig& config, const std::string& run = "");
// As ProcessHosts, in OCI containers (experiments/hosts/container_launcher.h).
HostFactory ContainerHosts(const std::filesystem::path& binary, const Topology& topology,
                           const ExperimentConfig& config, const std::string& run = "");
// As ProcessHosts, on the nodes of this Slurm allocation, the first config.nodes of them, each by an
// agent that srun starts (experiments/hosts/cluster_host.h). Every node must see the binary and the
// results under the same paths. REQUIRES: there is an allocation, of as many nodes.
HostFactory SlurmHosts(const std::filesystem::path& binary, const Topology& topology,
                       const ExperimentConfig& config, const std::string& run = "");
// Modelled ones in virtual time (experiments/hosts/simulation/simulated_host.h). REQUIRES:
// config.profile.
HostFactory SimulatedHosts(const ExperimentConfig& config);
// The hosts of the experiment's backend.
HostFactory HostsOf(const std::filesystem::path& binary, const Topology& topology,
                    const ExperimentConfig& config, const std::string& run = "");

}  // namespace cosched
