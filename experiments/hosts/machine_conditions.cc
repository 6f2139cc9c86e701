#include "experiments/hosts/machine_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "experiments/os/offline_cpus.h"

namespace cosched {
namespace {

constexpr double kMuchForeignLoad =
    0.1;  // As a share of the time of the experiment's cores in a cell.

}  // namespace

MachineConditions::MachineConditions(const CpuSet& cores, const Topology& topology)
    : cores_(cores),
      siblings_(topology.SiblingsOf(cores)),
      foreign_load_(cores),
      sibling_load_(siblings_, ForeignLoad::WithoutChildren()),
      quotas_(cores.Count()) {}

std::vector<std::string> MachineConditions::Marks(Duration ours) const {
  std::vector<std::string> marks;
  const auto add_load = [&marks](double share, const char* of_what) {
    if (share <= kMuchForeignLoad) return;
    marks.push_back(fmt::format("other programs used more than {:.0f} % of {} meanwhile",
                                kMuchForeignLoad * 100, of_what));
  };
  add_load(foreign_load_.Share(ours), "the experiment's cores");
  if (!siblings_.Empty())
    add_load(sibling_load_.Share(), "the SMT siblings of the experiment's cores");
  std::ranges::move(quotas_.Marks(), std::back_inserter(marks));
  if (const std::string offline = OfflineText(cores_); !offline.empty())
    marks.push_back(offline + " any more: what was granted there failed, or ran elsewhere");
  return marks;
}

}  // namespace cosched
