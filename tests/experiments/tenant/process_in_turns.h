#pragma once
// A process of a test's that takes turns with it, so that neither waits for a time: for what is about a
// process in a cgroup, which can be moved without moving the tests. On one thread.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "engine/base/unique_fd.h"

namespace cosched {

class Turn {
 public:
  explicit Turn(UniqueFd other) : other_(std::move(other)) {}
  // Each is false if the other one has ended.
  bool Pass() const { return send(other_.get(), "", 1, MSG_NOSIGNAL) == 1; }
  bool Await() const {
    char byte = 0;
    return recv(other_.get(), &byte, 1, 0) == 1;
  }
  bool Yield() const { return Pass() && Await(); }

 private:
  const UniqueFd other_;
};

// The exit code of the process that does `child`; -1: it was killed. `parent` is done meanwhile, here.
inline int RunInTurns(const std::function<int(const Turn&)>& child,
                      const std::function<void(pid_t, const Turn&)>& parent) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return -1;
  UniqueFd here(ends[0]), there(ends[1]);
  const pid_t process = fork();
  if (process == 0) {
    here.Reset();
    _exit(child(Turn(std::move(there))));
  }
  there.Reset();
  parent(process,
         Turn(std::move(here)));  // Its turn ends with it: a child that awaits one is told.
  int status = -1;
  EXPECT_EQ(waitpid(process, &status, 0), process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cosched
