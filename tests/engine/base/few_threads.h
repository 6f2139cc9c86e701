#pragma once
// Code that may start only a few threads, in a child process of another user: limits count all
// processes of a user, and hold for root in no way.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace cosched {

// ThreadSanitizer's runtime has a thread of its own.
#ifdef __SANITIZE_THREAD__
inline constexpr rlim_t kThreadsOfSanitizer = 1;
#else
inline constexpr rlim_t kThreadsOfSanitizer = 0;
#endif

// This process may have so many threads from now on. False if that can't be had.
inline bool AllowThreads(rlim_t threads) {
  // Whom nobody has heard of, nor is it of a test beside this one. Namespaces may end at 65535.
  const auto user = static_cast<uid_t>(20'000 + getpid() % 40'000);
  const rlimit limit{threads, threads};
  return setgid(user) == 0 && setuid(user) == 0 && setrlimit(RLIMIT_NPROC, &limit) == 0;
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
