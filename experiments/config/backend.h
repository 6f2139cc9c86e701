#pragma once
// What tenants are. Pure.

#include <optional>
#include <string_view>

namespace cosched {

enum class Backend {
  kHardware,   // processes of this machine
  kContainer,  // the same, in containers
  kSlurm,      // processes of the nodes of a Slurm allocation
  kSimulated,  // a model of programs on a model of a machine
};

std::string_view ToString(Backend backend);  // "hardware", "container", "slurm", "simulated"
std::optional<Backend> ParseBackend(std::string_view text);

}  // namespace cosched
