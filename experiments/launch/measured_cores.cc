#include "experiments/launch/measured_cores.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "engine/base/error.h"
#include "experiments/os/cpu_quota.h"

namespace cosched {
namespace {

std::string InUse(const CoreUser& user, const char* one, const char* many) {
  const bool is_one = user.cores.Count() == 1;
  return fmt::format("{} {} {} in use by {}", is_one ? "core" : "cores", user.cores.ToString(),
                     is_one ? one : many, Describe(user));
}

void TellQuota(int cores) {
  const std::optional<CpuQuota> quota = TightestQuota();
  if (!quota) return;
  if (quota->cores < cores) {
    fmt::print(
        stderr,
        "the CPU quota is {}, the experiment has {} {}: the kernel stops tenants whenever the "
        "quota is used up; every cell is marked\n",
        Describe(*quota), cores, cores == 1 ? "core" : "cores");
  } else {
    fmt::print(stderr, "the CPU quota is {}: a cell in which it is used up is marked\n",
               Describe(*quota));
  }
}

}  // namespace

CpuSet MeasuredCoresOf(const Sweep& sweep) {
  CpuSet cores;
  for (const SweepPoint& point : sweep.points)
    if (point.config.backend != Backend::kSimulated) cores = cores | point.config.cores;
  return cores;
}

MeasuredCores::MeasuredCores(const CpuSet& cores, const Topology& topology, const std::string& run,
                             bool force)
    : lock_(cores | topology.SiblingsOf(cores), run) {
  if (cores.Empty()) return;
  if (!lock_.problem().empty()) {
    fmt::print(stderr, "whether another run uses the cores is not known: {}\n", lock_.problem());
  }
  for (const CoreUser& user : lock_.others()) {
    if (!force) {
      throw InputError({.file = "this machine",
                        .problem = InUse(user, "is", "are"),
                        .allowed = "other cores, or these once that run has ended; --force runs "
                                   "beside it and marks every cell"});
    }
    fmt::print(stderr, "{}: the two runs disturb each other; every cell is marked\n",
               InUse(user, "is", "are"));
    marks_.push_back(fmt::format("when this run began, {} (--force)", InUse(user, "was", "were")));
  }
  if (force) lock_.Insist();
  TellQuota(cores.Count());
}

void AddForceFlag(CLI::App* command, bool* force) {
  command->add_flag("--force", *force,
                    "Measure also on cores that another run uses; every cell is marked then");
}

}  // namespace cosched
