#include "experiments/hosts/slurm_allocation.h"

#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "experiments/os/capture.h"

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
  std::string said;
  const std::optional<std::string> text = Capture({"scontrol", "show", "hostnames"}, &said);
  if (!text)
    throw std::runtime_error("scontrol show hostnames failed: " + said.substr(0, said.find('\n')));
  std::vector<std::string> names;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

}  // namespace cosched
