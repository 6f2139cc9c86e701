#pragma once
// What everyone wants of one tenant's threads, and what follows from it: the limit (a host's grant,
// or --cores), the cores that the kernel lets the process use, and what a person, a signal or a
// counter asked for within them, and as many threads as can use the CPU time that it has. Pure bookkeeping, for the tenant's control thread. Not
// thread-safe.
//
// Requests are remembered: when a narrowed cpuset grows again, the threads return to what was last
// asked for. A new grant replaces the requests before it, but does not end a person's pause.

#include <optional>
#include <string>

#include "engine/base/cpu_set.h"
#include "engine/base/split.h"
#include "engine/pool/resize.h"

namespace cosched {

class TenantDemand {
 public:
  // `limit_name` is what messages call the limit: "the host's grant".
  TenantDemand(const CpuSet& limit, Split threads, Split capacity, std::string limit_name);

  void Grant(const CpuSet& limit, Split threads);  // No cores = pause.
  void Allow(const CpuSet& cpus);                  // By the kernel.
  // CPU time for so many threads, by a quota; nullopt = any number. They are on those cores in turn
  // that follow the `from`-th: tenants that share cores, each with its quota, begin at different
  // ones.
  void AllowTime(std::optional<int> threads, int from);
  // Each returns why not, having changed nothing, or "".
  std::string Set(const std::optional<CpuSet>& cores, std::optional<int> inter,
                  std::optional<int> intra);
  std::string SetCount(int cores);  // The first of those it may use; 0 pauses.
  void SetPaused(bool paused) { paused_ = paused; }

  const CpuSet& Limit() const { return limit_; }
  CpuSet MayUse() const;
  bool Paused() const { return paused_; }
  Split Capacity() const { return capacity_; }
  // What the pools should want now, all of it.
  ResizeRequest Request(std::string_view cause) const;

 private:
  CpuSet Cores() const;
  CpuSet CoresInTime(const CpuSet& cores) const;
  std::string WhyNot(const CpuSet& cores) const;
  std::string WhyNot(const char* name, std::optional<int> threads, int capacity) const;

  CpuSet limit_;
  Split threads_;
  const Split capacity_;
  const std::string limit_name_;
  CpuSet allowed_;
  std::optional<int> most_threads_;
  int from_ = 0;
  std::optional<CpuSet> cores_;  // Asked for, at most one of the two.
  std::optional<int> count_;
  std::optional<int> inter_, intra_;
  bool paused_ = false;
};

// The lowest `count` of them.
CpuSet FirstCores(const CpuSet& cores, int count);

}  // namespace cosched
