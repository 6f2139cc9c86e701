#pragma once
// The worlds that an experiment's cells run in: real processes, containers, or a model of them.
// Called by who runs cells, once for an experiment; what it returns makes a world for each cell.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "experiments/config/experiment_config.h"
#include "experiments/hosts/world.h"

namespace cosched {

// log_folder: where the tenants of this cell may write; inside the cell's own folder. run: by whose
// name `cosched ctl run:job` finds the tenants; "" = that of the folder which holds the cell's
// policies, which in a sweep is only a point's.
using WorldFactory = std::function<std::unique_ptr<World>(const std::filesystem::path& log_folder)>;
// Real processes of this binary (experiments/hosts/process_host.h).
WorldFactory ProcessWorlds(const std::filesystem::path& binary, const Topology& topology,
                           const ExperimentConfig& config, const std::string& run = "");
// The same in OCI containers (experiments/hosts/container_launcher.h).
WorldFactory ContainerWorlds(const std::filesystem::path& binary, const Topology& topology,
                             const ExperimentConfig& config, const std::string& run = "");
// Modelled ones in virtual time (experiments/hosts/simulation/simulated_host.h). REQUIRES:
// config.profile.
WorldFactory SimulatedWorlds(const ExperimentConfig& config);
// Those of the experiment's backend.
WorldFactory WorldsOf(const std::filesystem::path& binary, const Topology& topology,
                      const ExperimentConfig& config, const std::string& run = "");

}  // namespace cosched
