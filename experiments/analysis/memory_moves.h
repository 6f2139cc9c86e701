#pragma once
// What tenants' moves between NUMA nodes add up to in a cell, from its memory.csv. Reads files only;
// called by metrics.cc.

#include <cstdint>
#include <filesystem>
#include <optional>

namespace cosched {

struct MemoryMoves {
  int64_t moves = 0;
  int64_t bytes = 0;  // That were moved.
};
// nullopt where no tenant has changed nodes. Throws InputError naming file and line of what is
// malformed.
std::optional<MemoryMoves> SumMemoryMoves(const std::filesystem::path& cell);

}  // namespace cosched
