#pragma once
// Processor time that a benchmark has used, which other programs disturb less than the clock. Any
// thread.

#include <sys/resource.h>

#include <ctime>

namespace cosched {

// Of all threads.
inline double ProcessorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of the programs that it started and that have ended, too.
inline double ProcessorSecondsOfAll() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  double seconds = ProcessorSeconds();
  for (const timeval& time : {children.ru_utime, children.ru_stime})
    seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  return seconds;
}

}  // namespace cosched
