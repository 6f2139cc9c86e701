#pragma once
// Brings tenants' memory to the NUMA nodes of their cores, on a thread of its own. Called by
// ProcessHost, on one thread.
//
// By the host and not by the tenants: so it is the same for rigid and moldable programs, which know
// nothing of grants, for those of several processes, and in containers; and what is recorded is
// what the kernel has done, not the tenant's word. Not on the host's thread: moving a GB takes a
// good part of a second, in which nobody else could be granted anything. And after the grant has
// settled: nobody waits for pages. While it moves them, the thread runs on the tenant's own cores,
// so that the time that this takes is the tenant's, not a neighbour's.
//
// On a machine with one node, or one that is not this machine, nothing is ever done and there is no
// thread. What the kernel refuses (another user's process, no such call) is told once, and the
// tenant goes on as it is.

#include <sys/types.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/numa.h"
#include "engine/base/topology.h"
#include "engine/base/unique_fd.h"
#include "experiments/wire/memory_mode.h"
#include "experiments/wire/memory_move.h"

namespace cosched {

class MemoryMover {
 public:
  // The clock outlives it. map: of the topology.
  MemoryMover(const Topology& topology, NumaMap map, MemoryMode mode, const Clock* clock);
  ~MemoryMover();  // What has begun is ended.
  MemoryMover(const MemoryMover&) = delete;
  MemoryMover& operator=(const MemoryMover&) = delete;

  // There are several nodes; else all calls below do nothing.
  bool Watches() const { return watches_; }
  // The job's threads may run there from now on, and touch memory.
  void Grant(JobId job, const CpuSet& cores);
  // They run there and nowhere else. mems: the cpuset.mems of its cgroup, open for writing; -1 =
  // it has none. Later calls for the same job supersede those that have not begun.
  void Settle(JobId job, const CpuSet& cores, std::vector<pid_t> processes, int mems);
  void Forget(JobId job);  // It is gone.

  std::vector<MemoryMove> Take();        // Those that are over, in order.
  std::vector<std::string> TakeMarks();  // What could not be done, and why; each once.

 private:
  struct Order {
    JobId job;
    CpuSet cores;
    std::vector<pid_t> processes;
    UniqueFd mems;
    NumaNodes from, to;  // from: none = only what it allocates from now on.
  };
  struct Tenant {
    NumaNodes memory;   // Where it may have some.
    NumaNodes granted;  // By the last grant that settled.
  };

  void Run();
  void Tell(const std::string& problem);  // A mark, unless it was told. REQUIRES: the lock is held.
  void Do(const Order& order);
  // Why it is not done, or "".
  std::string Move(const Order& order, MemoryMove* move) const;
  static std::string Bind(const Order& order, const NumaNodes& nodes);

  const Topology topology_;
  const NumaMap map_;
  const MemoryMode mode_;
  const Clock* const clock_;
  const bool watches_;

  std::mutex mutex_;  // Guards all below.
  std::condition_variable news_;
  std::map<JobId, Tenant> tenants_;
  std::map<JobId, Order> orders_;  // That have not begun.
  std::vector<MemoryMove> moves_;
  std::vector<std::string> marks_, told_;
  bool stopping_ = false;
  std::thread thread_;  // From the first order on.
};

}  // namespace cosched
