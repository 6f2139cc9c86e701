#include "experiments/os/offline_cpus.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <string>

namespace cosched {

CpuSet OfflineOf(const CpuSet& cpus, const std::filesystem::path& online) {
  std::ifstream file(online);
  std::string line;
  if (!std::getline(file, line)) return {};
  const std::optional<CpuSet> in_service = CpuSet::Parse(line);
  return in_service ? cpus - *in_service : CpuSet();
}

std::string OfflineText(const CpuSet& cpus, const std::filesystem::path& online) {
  const CpuSet offline = OfflineOf(cpus, online);
  if (offline.Empty()) return "";
  return offline.Count() == 1 ? fmt::format("CPU {} is not online", offline.ToString())
                              : fmt::format("CPUs {} are not online", offline.ToString());
}

}  // namespace cosched
