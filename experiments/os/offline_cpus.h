#pragma once
// CPUs that were taken out of service after the topology had been read (hotplug, by an administrator
// or a hypervisor): whatever is granted them is refused by the kernel, or runs on others. Used by
// hosts, from any thread.

#include <filesystem>
#include <string>

#include "engine/base/cpu_set.h"

namespace cosched {

inline constexpr const char* kOnlineCpus = "/sys/devices/system/cpu/online";

// Those of `cpus` that the kernel's list of CPUs in service does not name. Empty where it can't be read.
CpuSet OfflineOf(const CpuSet& cpus, const std::filesystem::path& online = kOnlineCpus);

// "CPU 3 is not online", "CPUs 3-4 are not online"; "" if all are in service.
std::string OfflineText(const CpuSet& cpus, const std::filesystem::path& online = kOnlineCpus);

}  // namespace cosched
