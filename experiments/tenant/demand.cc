#include "experiments/tenant/demand.h"

#include <utility>
#include <vector>

namespace cosched {

CpuSet FirstCores(const CpuSet& cores, int count) {
  CpuSet first;
  for (const int cpu : cores) {
    if (first.Count() < count) first.Add(cpu);
  }
  return first;
}

TenantDemand::TenantDemand(const CpuSet& limit, Split threads, Split capacity,
                           std::string limit_name)
    : limit_(limit),
      threads_(threads),
      capacity_(capacity),
      limit_name_(std::move(limit_name)),
      allowed_(limit) {}

void TenantDemand::Grant(const CpuSet& limit, Split threads) {
  limit_ = limit;
  threads_ = threads;
  cores_ = std::nullopt;
  count_ = inter_ = intra_ = std::nullopt;
}

void TenantDemand::Allow(const CpuSet& cpus) { allowed_ = cpus; }

void TenantDemand::AllowTime(std::optional<int> threads, int from) {
  most_threads_ = threads;
  from_ = from;
}

// Somebody may have taken all of the limit away; the threads can only be where the kernel lets
// them.
CpuSet TenantDemand::MayUse() const {
  if (limit_.Empty()) return {};
  const CpuSet both = limit_ & allowed_;
  return both.Empty() ? FirstCores(allowed_, limit_.Count()) : both;
}

std::string TenantDemand::WhyNot(const CpuSet& cores) const {
  const std::string subject = "cores " + cores.ToString() + ": ";
  if (cores.Empty()) return "no cores: that is pause";
  if (limit_.Empty()) return subject + "its host has paused it";
  if (MayUse().Contains(cores)) return "";
  if (!limit_.Contains(cores)) {
    return subject + "outside " + limit_name_ + ", " + limit_.ToString();
  }
  return subject + "its cpuset or affinity mask allows " + MayUse().ToString() + " only";
}

std::string TenantDemand::WhyNot(const char* name, std::optional<int> threads, int capacity) const {
  if (!threads || (*threads >= 0 && *threads <= capacity)) return "";
  return std::string(name) + " " + std::to_string(*threads) +
         ": allowed is 0 (pause) to its capacity, " + std::to_string(capacity);
}

std::string TenantDemand::Set(const std::optional<CpuSet>& cores, std::optional<int> inter,
                              std::optional<int> intra) {
  for (const std::string& problem :
       {cores ? WhyNot(*cores) : "", WhyNot("inter", inter, capacity_.inter),
        WhyNot("intra", intra, capacity_.intra)}) {
    if (!problem.empty()) return problem;
  }
  if (cores) {
    cores_ = cores;
    count_ = std::nullopt;
  }
  if (inter) inter_ = inter;
  if (intra) intra_ = intra;
  return "";
}

std::string TenantDemand::SetCount(int cores) {
  if (cores < 0 || cores > limit_.Count()) {
    return std::to_string(cores) + " cores: allowed is 0 (pause) to " +
           std::to_string(limit_.Count()) + ", those of " + limit_name_;
  }
  cores_ = std::nullopt;
  count_ = cores;
  return "";
}

CpuSet TenantDemand::Cores() const {
  CpuSet may_use = MayUse();
  if (count_) return FirstCores(may_use, *count_);
  if (!cores_) return may_use;
  const CpuSet both = *cores_ & may_use;
  return both.Empty() ? FirstCores(may_use, cores_->Count()) : both;
}

// Fewer threads have a part of the cores that more of them have.
CpuSet TenantDemand::CoresInTime(const CpuSet& cores) const {
  const int count = cores.Count();
  if (!most_threads_ || *most_threads_ >= count) return cores;
  const std::vector<int> cpus(cores.begin(), cores.end());
  CpuSet some;
  for (int i = 0; i < *most_threads_; ++i) some.Add(cpus[static_cast<size_t>((from_ + i) % count)]);
  return some;
}

ResizeRequest TenantDemand::Request(std::string_view cause) const {
  return {.cores = CoresInTime(Cores()),
          .inter = inter_.value_or(threads_.inter),
          .intra = intra_.value_or(threads_.intra),
          .paused = paused_,
          .cause = cause};
}

}  // namespace cosched
