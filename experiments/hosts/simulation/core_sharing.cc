#include "experiments/hosts/simulation/core_sharing.h"

#include <algorithm>
#include <utility>

namespace cosched {

void CoreSharing::Change(Id id) {
  if (!std::exchange(tenants_[static_cast<size_t>(id)].changed, true)) changed_.push_back(id);
}

void CoreSharing::ChangeAllOn(const std::vector<int>& cores) {
  for (const int core : cores) {
    for (const Id id : here_[static_cast<size_t>(core)]) Change(id);
  }
}

void CoreSharing::Place(Id id, const CpuSet& cores, int threads) {
  if (static_cast<size_t>(id) >= tenants_.size()) tenants_.resize(static_cast<size_t>(id) + 1);
  Tenant& tenant = tenants_[static_cast<size_t>(id)];
  for (const int core : tenant.cores) std::erase(here_[static_cast<size_t>(core)], id);
  ChangeAllOn(tenant.cores);
  tenant.threads = threads;
  tenant.cores = threads > 0 ? cores.ToVector() : std::vector<int>();
  for (const int core : tenant.cores) {
    if (static_cast<size_t>(core) >= here_.size()) here_.resize(static_cast<size_t>(core) + 1);
    here_[static_cast<size_t>(core)].push_back(id);
  }
  ChangeAllOn(tenant.cores);
  Change(id);
}

CoreSharing::Share CoreSharing::Of(Id id) const {
  const Tenant& tenant = tenants_[static_cast<size_t>(id)];
  if (tenant.cores.empty()) return {};
  const double density = tenant.Density();
  Share share{.granted = static_cast<double>(tenant.cores.size()), .threads_per_core = 0};
  for (const int core : tenant.cores) {
    double load = 0;
    for (const Id other : here_[static_cast<size_t>(core)])
      load += tenants_[static_cast<size_t>(other)].Density();
    share.shared = share.shared || here_[static_cast<size_t>(core)].size() > 1;
    share.cores += density / std::max(1.0, load);
    share.threads_per_core += std::max(1.0, load);
  }
  const auto count = static_cast<double>(tenant.cores.size());
  share.threads_per_core /= count;
  // By itself exactly so many, whatever the sum's rounding.
  if (!share.shared) {
    share.cores = std::min<double>(tenant.threads, count);
    share.threads_per_core = std::max(1.0, density);
  }
  return share;
}

std::vector<CoreSharing::Id> CoreSharing::TakeChanged() {
  for (const Id id : changed_) tenants_[static_cast<size_t>(id)].changed = false;
  return std::exchange(changed_, {});
}

}  // namespace cosched
