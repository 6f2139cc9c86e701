// The end of a thread as the kernel sees it, for tests of what is told about threads that are gone:
// a join returns before the kernel has forgotten the thread.

#pragma once

#include <signal.h>
#include <unistd.h>

#include <thread>

namespace cosched {

// Waits until thread `tid` of this process, which has been joined, is gone.
inline void AwaitEnd(pid_t tid) {
  while (tgkill(getpid(), tid, 0) == 0) std::this_thread::yield();
}

}  // namespace cosched
