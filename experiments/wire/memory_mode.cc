#include "experiments/wire/memory_mode.h"

namespace cosched {

std::string_view ToString(MemoryMode mode) {
  switch (mode) {
    case MemoryMode::kFollow: return "follow";
    case MemoryMode::kBind: return "bind";
    case MemoryMode::kStay: return "stay";
  }
  return "";
}

std::optional<MemoryMode> ParseMemoryMode(std::string_view text) {
  for (const MemoryMode mode : {MemoryMode::kFollow, MemoryMode::kBind, MemoryMode::kStay}) {
    if (text == ToString(mode)) return mode;
  }
  return std::nullopt;
}

}  // namespace cosched
