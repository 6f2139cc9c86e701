#pragma once
// Intel's performance and efficiency cores, as the kernel lists them for its counters. Called by
// Topology, since hwloc asks each CPU for its type, for which it would have to move to it. Pure but
// for reading the files.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/cpu_set.h"

namespace cosched {

struct CoreType {
  std::string name;  // As hwloc calls it: "IntelCore", "IntelAtom".
  CpuSet cpus;
};

// `devices`: /sys/devices. Empty where all cores are of one type.
std::vector<CoreType> IntelCoreTypes(const std::filesystem::path& devices);

}  // namespace cosched
