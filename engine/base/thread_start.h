#pragma once
// Starts threads, and says of one that can't be started what it was for and which limits hold.
// Called by whoever makes threads; any thread. A std::thread that is not joined ends the process,
// so a caller that makes several joins those it has before it lets the error go on.

#include <pthread.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace cosched {

// "<what> (ulimit -u 4096, pids.max 2048): Resource temporarily unavailable"
std::system_error ThreadError(const std::string& what, const std::system_error& error);

// Throws a ThreadError if the kernel refuses; `whose` names the thread there: "the control thread".
template <typename Function>
std::thread StartThread(const char* whose, Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw ThreadError(std::string(whose) + " can't be started", error);
  }
}

// How a thread is scheduled. One that a realtime thread makes would lose what its process was given:
// nice, chrt --batch or --idle.
struct ThreadPriority {
  int policy = 0, nice = 0;
  static ThreadPriority OfThisThread();
  // For the calling thread, where the kernel lets it. A realtime one is not passed on.
  void Take() const;
};

// Starts run(argument) on `cpu`, where it need not wait for a core that its maker's keep busy; -1, or
// where the kernel refuses that CPU: where its maker may run. Throws std::system_error. The caller
// joins it.
pthread_t StartThreadOn(int cpu, void* (*run)(void*), void* argument);

}  // namespace cosched
