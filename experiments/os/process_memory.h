#pragma once
// Where a process's memory lies, and how it is brought to other NUMA nodes. From the kernel's own
// files and calls: hwloc binds and moves only the calling process. Called by the host's
// MemoryMover; stateless.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>

#include "engine/base/numa.h"

namespace cosched {

// Bytes by node.
using MemoryByNode = std::map<int, int64_t>;

// What is its own of a file like /proc/PID/numa_maps: pages of files that it shares with others
// don't count. nullopt: the process is gone, is not ours to look at (errno is kept), or the kernel
// knows no nodes.
std::optional<MemoryByNode> ReadNumaMaps(const std::filesystem::path& file);
std::optional<MemoryByNode> MemoryOf(pid_t process);
int64_t BytesOn(const MemoryByNode& memory, const NumaNodes& nodes);

// Moves the process's own pages from these nodes to those, as far as there is room, and returns
// when it is done, which takes a second for some GB. 0, or errno: EPERM, ENOSYS of a kernel without
// nodes, ESRCH. What it allocates later is another matter: by default that is near the thread that
// touches it first. As long as the calling thread may move what is others', too, that is moved as
// well (LeaveOthersMemory).
int MovePages(pid_t process, const NumaNodes& from, const NumaNodes& to);

// Takes from the calling thread the right to move pages that several processes share, such as
// those of the program's file; there is no way back.
void LeaveOthersMemory();

// What the calling thread, and those that it makes, touch first lies on these nodes only, until this
// ends. For measurements of memory that is far.
class MemoryOn {
 public:
  explicit MemoryOn(const NumaNodes& nodes);
  ~MemoryOn();
  MemoryOn(const MemoryOn&) = delete;
  MemoryOn& operator=(const MemoryOn&) = delete;
  int error() const { return error_; }  // Why it does not; 0 = it does.

 private:
  int error_ = 0;
};

}  // namespace cosched
