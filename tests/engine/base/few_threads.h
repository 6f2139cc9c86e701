#pragma once
// Code that may start only a few threads, in a child process of another user: limits count all
// processes of a user, and hold for root in no way.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace cosched {

inline constexpr int kFewThreadsUser = 54322;  // Whom nobody has heard of.

// This process may have so many threads from now on. False if that can't be had.
inline bool AllowThreads(rlim_t threads) {
  const rlimit limit{threads, threads};
  return setgid(kFewThreadsUser) == 0 && setuid(kFewThreadsUser) == 0 &&
         setrlimit(RLIMIT_NPROC, &limit) == 0;
}

// What `act` returns there, which is to be 0..99; 100 if the child could not be made so; else minus
// the signal that killed it.
inline int WithFewThreads(rlim_t threads, const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(AllowThreads(threads) ? act() : 100);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace cosched
