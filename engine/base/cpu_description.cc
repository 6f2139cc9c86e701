#include "engine/base/cpu_description.h"

#include <algorithm>
#include <fstream>

namespace cosched {

std::map<std::string, std::string> ReadCpuDescription(std::istream& cpuinfo) {
  constexpr char kBlank[] = " \t";
  std::map<std::string, std::string> description;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t value = std::min(line.find_first_not_of(kBlank, colon + 1), line.size());
    const std::string key = line.substr(0, colon);
    description[key.substr(0, key.find_last_not_of(kBlank) + 1)] = line.substr(value);
  }
  return description;
}

std::map<std::string, std::string> ThisCpuDescription() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return ReadCpuDescription(cpuinfo);
}

std::string ThisCpuModel() {
  const std::map<std::string, std::string> description = ThisCpuDescription();
  const auto model = description.find("model name");
  return model == description.end() || model->second.empty() ? "unknown" : model->second;
}

}  // namespace cosched
