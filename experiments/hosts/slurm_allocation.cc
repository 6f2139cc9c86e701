#include "experiments/hosts/slurm_allocation.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

namespace cosched {

std::string WhyNoSlurmAllocation() {
  for (const char* variable : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0')
      return std::string("this is no Slurm allocation (") + variable + " is not set)";
  }
  return "";
}

std::vector<std::string> NodesOfAllocation() {
  // Without an argument it takes apart what SLURM_JOB_NODELIST says.
  FILE* const output = popen("scontrol show hostnames 2>&1 </dev/null", "re");
  if (output == nullptr) throw std::runtime_error("scontrol can't be run");
  std::string text;
  std::array<char, 4096> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), output))
    text.append(buffer.data(), count);
  if (pclose(output) != 0)
    throw std::runtime_error("scontrol show hostnames failed: " + text.substr(0, text.find('\n')));
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

}  // namespace cosched
