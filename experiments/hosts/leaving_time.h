#pragma once
// Whether a tenant that has not left what it was told to leave by the deadline could have: a thread
// leaves when it has a core to do so, and at the end of the task that it is in. So the deadline is put
// off while a thread is still in the task that was running when the tenant was told, and while the
// tenant, though a thread of it wants a core or waits for the kernel, has not had as much CPU time as
// it may take. From the last such moment it has the deadline once more, since whoever has ended its
// task still has to leave; but not for ever, as it is the tenant who says so. Called by
// SupervisedTenant. Not thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/hosts/working_threads.h"
#include "experiments/os/process_sampler.h"

namespace cosched {

class LeavingTime {
 public:
  // deadline: without reasons for more; most: with any.
  LeavingTime(WorkingThreads threads, Duration deadline, Duration most)
      : threads_(threads), deadline_(deadline), most_(most) {}

  // It is told now. used: CPU time of the tenant so far; threads: as last seen.
  void Begin(TimePoint now, Duration used, const std::vector<ProcessSampler::Thread>& threads);
  // threads: seen just now.
  bool IsUp(TimePoint now, Duration used, const std::vector<ProcessSampler::Thread>& threads);

 private:
  bool IsInOldTask(const ProcessSampler::Thread& thread) const;

  const WorkingThreads threads_;
  const Duration deadline_, most_;
  TimePoint begin_;
  TimePoint reason_;  // When there was one last; or the beginning.
  Duration used_{0};
  std::map<pid_t, uint32_t> tasks_;  // That threads were in when the tenant was told.
};

}  // namespace cosched
