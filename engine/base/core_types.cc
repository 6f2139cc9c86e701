#include "engine/base/core_types.h"

#include <fstream>
#include <optional>
#include <utility>

namespace cosched {

std::vector<CoreType> IntelCoreTypes(const std::filesystem::path& devices) {
  std::vector<CoreType> types;
  for (const auto& [folder, name] :
       {std::pair("cpu_core", "IntelCore"), std::pair("cpu_atom", "IntelAtom")}) {
    std::ifstream file(devices / folder / "cpus");
    std::string text;
    if (!std::getline(file, text)) continue;
    if (const std::optional<CpuSet> cpus = CpuSet::Parse(text); cpus && !cpus->Empty())
      types.push_back({name, *cpus});
  }
  return types.size() < 2 ? std::vector<CoreType>() : types;
}

}  // namespace cosched
