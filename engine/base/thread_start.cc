#include "engine/base/thread_start.h"

#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <memory>

#include "engine/base/thread_limits.h"

namespace cosched {

ThreadPriority ThreadPriority::OfThisThread() {
  return {sched_getscheduler(0) & ~SCHED_RESET_ON_FORK, getpriority(PRIO_PROCESS, 0)};
}

void ThreadPriority::Take() const {
  if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE) return;
  const ThreadPriority now = OfThisThread();
  const sched_param none{};
  if (now.policy != policy) sched_setscheduler(0, policy, &none);
  if (now.nice != nice) setpriority(PRIO_PROCESS, 0, nice);
}

pthread_t StartThreadOn(int cpu, void* (*run)(void*), void* argument) {
  pthread_t thread{};
  int error = EINVAL;
  if (cpu >= 0) {
    const auto count = static_cast<size_t>(cpu) + 1;
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
        CPU_ALLOC(count), [](cpu_set_t* set) { CPU_FREE(set); });
    CPU_ZERO_S(CPU_ALLOC_SIZE(count), mask.get());
    CPU_SET_S(static_cast<size_t>(cpu), CPU_ALLOC_SIZE(count), mask.get());
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, CPU_ALLOC_SIZE(count), mask.get());
    error = pthread_create(&thread, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
  }
  if (error != 0) error = pthread_create(&thread, nullptr, run, argument);
  if (error != 0) throw std::system_error(error, std::generic_category());
  return thread;
}

std::system_error ThreadError(const std::string& what, const std::system_error& error) {
  return std::system_error(error.code(), what + " (" + LimitsOfThreads().ToString() + ")");
}

}  // namespace cosched
