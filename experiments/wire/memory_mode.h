#pragma once
// What becomes of a tenant's memory when its cores are on other NUMA nodes than before. Called by
// config (what is wanted), by the hosts, and by the simulator, which charges for it. Stateless.

#include <optional>
#include <string_view>

namespace cosched {

enum class MemoryMode {
  kFollow,  // pages are moved there; what it allocates from then on is there as far as it fits
  kBind,    // the same, and by the cpuset of its cgroup it gets no memory elsewhere
  kStay,    // pages stay where they were first touched, as without cosched
};

std::string_view ToString(MemoryMode mode);  // "follow", "bind", "stay"
std::optional<MemoryMode> ParseMemoryMode(std::string_view text);

}  // namespace cosched
