#include "experiments/hosts/simulation/core_sharing.h"

#include <algorithm>
#include <utility>

namespace cosched {

CoreSharing::CoreSharing(const Topology& topology) {
  if (!topology.HasSiblings()) return;
  for (const int cpu : topology.Cpus()) {
    siblings_.resize(static_cast<size_t>(cpu) + 1);
    siblings_.back() = topology.SiblingsOf({cpu});
  }
  cores_.resize(siblings_.size());
}

void CoreSharing::Change(Id id) {
  if (!std::exchange(tenants_[static_cast<size_t>(id)].changed, true)) changed_.push_back(id);
}

void CoreSharing::ChangeAllOn(const CpuSet& cores) {
  for (const int core : cores) {
    for (const Id id : cores_[static_cast<size_t>(core)].here) Change(id);
  }
}

// Those on the same physical cores notice who comes and goes.
void CoreSharing::ChangeBeside(const CpuSet& cores) {
  for (const int core : cores) ChangeAllOn(SiblingsOf(core));
}

const CpuSet& CoreSharing::SiblingsOf(int core) const {
  static const CpuSet none;
  const auto at = static_cast<size_t>(core);
  return at < siblings_.size() ? siblings_[at] : none;
}

double CoreSharing::Beside(Id id) const {
  if (siblings_.empty()) return 0;
  const Tenant& tenant = tenants_[static_cast<size_t>(id)];
  double beside = 0;
  for (const int core : tenant.cores) {
    double load = 0;
    for (const int sibling : SiblingsOf(core)) {
      for (const Id other : cores_[static_cast<size_t>(sibling)].here)
        if (other != id) load += tenants_[static_cast<size_t>(other)].Density();
    }
    beside += std::min(1.0, load);
  }
  return beside / tenant.count;
}

void CoreSharing::Forget(const CpuSet& cores) {
  for (const int core : cores) cores_[static_cast<size_t>(core)].summed = false;
}

// Added up anew, in the order of the tenants there: rounding depends on nothing that was before.
const CoreSharing::Core& CoreSharing::Summed(int index) {
  Core& core = cores_[static_cast<size_t>(index)];
  if (std::exchange(core.summed, true)) return core;
  core.load = core.claims = 0;
  for (const Id id : core.here) {
    core.load += tenants_[static_cast<size_t>(id)].Density();
    core.claims += tenants_[static_cast<size_t>(id)].Claim();
  }
  return core;
}

void CoreSharing::Place(Id id, const CpuSet& cores, int threads, double weight) {
  if (static_cast<size_t>(id) >= tenants_.size()) tenants_.resize(static_cast<size_t>(id) + 1);
  Tenant& tenant = tenants_[static_cast<size_t>(id)];
  const CpuSet before = tenant.cores;
  const double density = tenant.count > 0 ? tenant.Density() : 0;
  const double claim = tenant.count > 0 ? tenant.Claim() : 0;
  tenant.threads = threads;
  tenant.weight = weight;
  tenant.cores = threads > 0 ? cores : CpuSet();
  tenant.count = tenant.cores.Count();
  const CpuSet left = before - tenant.cores, joined = tenant.cores - before;
  for (const int core : left) std::erase(cores_[static_cast<size_t>(core)].here, id);
  for (const int core : joined) {
    if (static_cast<size_t>(core) >= cores_.size()) cores_.resize(static_cast<size_t>(core) + 1);
    cores_[static_cast<size_t>(core)].here.push_back(id);
  }
  Forget(left);
  Forget(tenant.cores);
  holders_.Replace(before, tenant.cores);
  if (!siblings_.empty()) ChangeBeside(before | tenant.cores);
  // Where nobody else is, nobody notices.
  if (!holders_.Held().Intersects(left) && !holders_.Shared().Intersects(tenant.cores))
    return Change(id);
  // Where it stays, others notice only that it is more or less dense.
  const bool as_dense = tenant.count > 0 && tenant.Density() == density && tenant.Claim() == claim;
  ChangeAllOn(as_dense ? left : before);
  ChangeAllOn(as_dense ? joined : tenant.cores);
  Change(id);
}

CoreSharing::Share CoreSharing::Of(Id id) {
  if (tenants_[static_cast<size_t>(id)].count == 0) return {};
  Share share = ShareOfCores(id);
  share.beside = Beside(id);
  return share;
}

CoreSharing::Share CoreSharing::ShareOfCores(Id id) {
  const Tenant& tenant = tenants_[static_cast<size_t>(id)];
  const double count = tenant.count;
  const double density = tenant.Density();
  // By itself exactly so many, whatever a sum's rounding.
  if (!tenant.cores.Intersects(holders_.Shared())) {
    return {.cores = std::min<double>(tenant.threads, count),
            .granted = count,
            .threads_per_core = std::max(1.0, density)};
  }
  Share share{.granted = count, .threads_per_core = 0, .shared = true};
  double slowest = 1, beside_slowest = 0, others = 0;
  for (const int core : tenant.cores) {
    const Core& sums = Summed(core);
    const double load = sums.load, claims = sums.claims;
    const double part = load <= 1 ? density : std::min(density, tenant.Claim() / claims);
    share.cores += part;
    share.threads_per_core += std::max(1.0, load);
    others += load - density;
    if (const double rate = part / std::min(1.0, density); rate < slowest) {
      slowest = rate;
      beside_slowest = load - density;
    }
  }
  share.threads_per_core /= count;
  const bool waits = density >= 1;  // For its slowest thread.
  share.rate = waits ? slowest : share.cores / tenant.threads;
  share.others = waits ? beside_slowest : others / count;
  return share;
}

const std::vector<CoreSharing::Id>& CoreSharing::TakeChanged() {
  for (const Id id : changed_) tenants_[static_cast<size_t>(id)].changed = false;
  taken_.clear();
  std::swap(taken_, changed_);
  return taken_;
}

}  // namespace cosched
