#include "engine/base/memory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace cosched {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();

int64_t SystemHas() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (int64_t kilobytes = 0; file >> key >> kilobytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kilobytes * 1024;
  }
  return kUnknown;
}

// "max" or no such file: no limit.
bool ReadBytes(const fs::path& path, int64_t* bytes) {
  std::ifstream file(path);
  return static_cast<bool>(file >> *bytes);
}

// What a limit does not count of a group: files that could be dropped.
int64_t Droppable(const fs::path& group) {
  std::ifstream file(group / "memory.stat");
  std::string key;
  for (int64_t bytes = 0; file >> key >> bytes;) {
    if (key == "inactive_file") return bytes;
  }
  return 0;
}

int64_t GroupsAllow() {
  const fs::path root = "/sys/fs/cgroup";
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  int64_t least = kUnknown;
  while (std::getline(file, line)) {
    if (!line.starts_with("0::/")) continue;
    for (fs::path group = root / line.substr(4);; group = group.parent_path()) {
      int64_t most = 0, used = 0;
      if (ReadBytes(group / "memory.max", &most) && ReadBytes(group / "memory.current", &used)) {
        least = std::min(least, std::max<int64_t>(most - used + Droppable(group), 0));
      }
      if (group == root || !group.has_relative_path()) break;
    }
  }
  return least;
}

}  // namespace

int64_t AvailableMemory() { return std::min(SystemHas(), GroupsAllow()); }

}  // namespace cosched
