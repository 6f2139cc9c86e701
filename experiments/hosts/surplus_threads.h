#pragma once
// Whether a tenant goes on computing with more threads than it has cores, judged by looks at its
// threads that are a while apart. Called by a host between two grants. Not thread-safe.
//
// However little each of many threads gets of a core, all of them count. But a thread that has left
// its pool stays runnable until the kernel gives it a turn to go to sleep, which may take long on a
// crowded machine; when it has had its turn it is gone. So there is a surplus if more threads than
// cores used more CPU time than that takes and were runnable at every look meanwhile. What a tenant
// tells of its threads does not matter here: one that only spins takes a core as well.

#include <sys/types.h>

#include <map>
#include <vector>

#include "engine/base/clock.h"
#include "experiments/os/process_sampler.h"

namespace cosched {

class SurplusThreads {
 public:
  // What was seen so far is of no account: the tenant has another grant.
  void Forget();
  // At the second look in a row with a surplus: the threads that were runnable at several looks.
  // Else 0.
  int Look(const std::vector<ProcessSampler::Thread>& threads, int cores);

 private:
  struct Runnable {
    int looks = 0;      // In a row.
    Duration since{0};  // The thread's run time at the second look.
  };
  struct Crowd {
    int lasting = 0;    // Threads runnable at several looks in a row …
    int computing = 0;  // … of which these surely do not go to sleep.
  };

  Crowd Count(const std::vector<ProcessSampler::Thread>& threads);

  std::map<pid_t, Runnable> runnable_;  // At the last look.
  int excess_looks_ = 0;                // In a row.
};

}  // namespace cosched
