#include "experiments/harness/worlds.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "experiments/hosts/container_launcher.h"
#include "experiments/hosts/process_host.h"
#include "experiments/hosts/process_launcher.h"
#include "experiments/hosts/simulation/simulated_host.h"
#include "experiments/os/cpu_quota.h"
#include "experiments/os/foreign_load.h"

namespace cosched {
namespace {

constexpr double kMuchForeignLoad = 0.1;  // Of the time of the experiment's cores in a cell.

class ProcessWorld final : public World {
 public:
  ProcessWorld(const ProcessHost::Options& options, std::unique_ptr<TenantLauncher> launcher)
      : cores_(options.cores),
        siblings_(SiblingsOf(options.cores, options.topology)),
        foreign_load_(cores_),
        sibling_load_(siblings_, ForeignLoad::WithoutChildren()),
        quotas_(cores_.Count()),
        host_(options, std::move(launcher)) {}

  Host& GetHost() override { return host_; }
  void Describe(JobId job, const TenantSpec& spec) override { host_.Describe(job, spec); }
  std::vector<TenantSample> Sample() override { return host_.Sample(); }
  std::vector<StepSample> TakeSteps() override { return host_.TakeSteps(); }
  std::vector<ResizeSample> TakeResizes() override { return host_.TakeResizes(); }
  std::vector<ActuationSample> TakeActuations() override { return host_.TakeActuations(); }
  std::vector<RequestSample> TakeRequests() override { return host_.TakeRequests(); }
  TimeByCore BusyTimes() const override { return cosched::BusyTimes(cores_); }

  std::vector<std::string> TakeMarks() override {
    std::vector<std::string> marks = host_.TakeMarks();
    const auto add_load = [&marks](double share, const char* of_what) {
      if (share <= kMuchForeignLoad) return;
      marks.push_back(fmt::format("other programs used more than {:.0f} % of {} meanwhile",
                                  kMuchForeignLoad * 100, of_what));
    };
    add_load(foreign_load_.Share(host_.UsedByOthersChildren()), "the experiment's cores");
    if (!siblings_.Empty())
      add_load(sibling_load_.Share(), "the SMT siblings of the experiment's cores");
    std::ranges::move(quotas_.Marks(), std::back_inserter(marks));
    return marks;
  }

 private:
  const CpuSet cores_;
  const CpuSet siblings_;  // That no tenant may use.
  const ForeignLoad foreign_load_;
  const ForeignLoad sibling_load_;
  const QuotaWatch quotas_;
  ProcessHost host_;
};

// The folder that holds a cell's policies: <folder>/<policy>/<elasticity>/<trial>.
std::string RunOf(const std::filesystem::path& cell) {
  return cell.parent_path().parent_path().parent_path().filename();
}

}  // namespace

WorldFactory ProcessWorlds(const std::filesystem::path& binary, const Topology& topology,
                           const ExperimentConfig& config, const std::string& run) {
  return [binary, topology, run, actuator = config.actuator,
          revocation_deadline = config.revocation_deadline, interference = config.interference,
          cores = config.cores](const std::filesystem::path& log_folder) {
    return std::make_unique<ProcessWorld>(
        ProcessHost::Options{.binary = binary,
                             .log_directory = log_folder,
                             .run = run.empty() ? RunOf(log_folder) : run,
                             .topology = topology,
                             .actuator = actuator,
                             .cores = cores,
                             .revocation_deadline = revocation_deadline,
                             .sample_threads = interference},
        std::make_unique<ProcessLauncher>(binary, actuator, cores));
  };
}

WorldFactory ContainerWorlds(const std::filesystem::path& binary, const Topology& topology,
                             const ExperimentConfig& config, const std::string& run) {
  return [binary, topology, run, actuator = config.actuator, cores = config.cores,
          revocation_deadline = config.revocation_deadline, interference = config.interference,
          container = config.container](const std::filesystem::path& log_folder) {
    auto launcher = std::make_unique<ContainerLauncher>(ContainerLauncher::Options{
        .binary = binary, .actuator = actuator, .cores = cores, .actuation = container.actuation});
    return std::make_unique<ProcessWorld>(
        ProcessHost::Options{.binary = {},
                             .log_directory = log_folder,
                             .run = run.empty() ? RunOf(log_folder) : run,
                             .topology = topology,
                             .actuator = actuator,
                             .cores = cores,
                             .client = container.client,
                             .revocation_deadline = revocation_deadline,
                             .sample_threads = interference},
        std::move(launcher));
  };
}

WorldFactory SimulatedWorlds(const ExperimentConfig& config) {
  return [profile = config.profile->profile, model = config.simulation,
          revocation_deadline = config.revocation_deadline, records = config.records,
          cores = config.topology->Cpus()](const std::filesystem::path&) {
    return std::make_unique<SimulatedHost>(
        SimulatedHost::Options{.profile = profile,
                               .model = model,
                               .machine = cores,
                               .revocation_deadline = revocation_deadline,
                               .steps = records.steps,
                               .resizes = records.resizes,
                               .samples = records.samples});
  };
}

WorldFactory WorldsOf(const std::filesystem::path& binary, const Topology& topology,
                      const ExperimentConfig& config, const std::string& run) {
  if (config.backend == Backend::kSimulated) return SimulatedWorlds(config);
  return config.backend == Backend::kContainer ? ContainerWorlds(binary, topology, config, run)
                                               : ProcessWorlds(binary, topology, config, run);
}

}  // namespace cosched
