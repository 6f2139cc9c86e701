#pragma once
// Machines with cores of several kinds, which hwloc's synthetic descriptions don't have: for tests.

#include <fmt/format.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "engine/base/topology.h"

namespace cosched {

// What a machine tells of some of its CPUs, such as CoreType = IntelAtom. REQUIRES: CPUs below 64.
struct XmlCoreKind {
  CpuSet cpus;
  std::string name;
  std::string value;
};

// The topology as hwloc exports it, with these kinds of cores in place of its own.
inline std::string XmlWithCoreKinds(const Topology& topology,
                                    const std::vector<XmlCoreKind>& kinds) {
  std::string elements;
  for (const XmlCoreKind& kind : kinds) {
    uint64_t mask = 0;
    for (const int cpu : kind.cpus) mask |= uint64_t{1} << cpu;
    elements += fmt::format(
        "  <cpukind cpuset=\"0x{:08x},0x{:08x}\">\n    <info name=\"{}\" value=\"{}\"/>\n"
        "  </cpukind>\n",
        mask >> 32U, mask & 0xffffffffU, kind.name, kind.value);
  }
  const std::regex told("<cpukind[^>]*>[\\s\\S]*?</cpukind>|<cpukind[^>]*/>");
  std::string xml = std::regex_replace(topology.Xml(), told, "");
  return xml.insert(xml.rfind("</topology>"), elements);
}

}  // namespace cosched
