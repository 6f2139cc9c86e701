#include "experiments/hosts/process_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/unique_fd.h"
#include "experiments/os/process_children.h"
#include "experiments/os/process_stat.h"
#include "tests/experiments/hosts/no_adoption_scope.h"

namespace cosched {
namespace {

constexpr int kSeconds = 20;

bool HasEnded(const UniqueFd& pidfd, int milliseconds) {
  pollfd descriptor{pidfd.get(), POLLIN, 0};
  return poll(&descriptor, 1, milliseconds) == 1;
}

// With the mark in its environment, from its first instruction on.
[[noreturn]] void Sleep(const std::string& mark, const char* seconds) {
  char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>(seconds), nullptr};
  std::string variable = mark;
  char* const environment[] = {variable.data(), nullptr};
  execve("/bin/sleep", arguments, environment);
  _exit(1);
}

// Starts a process whose parent has ended, and which has its environment by now.
UniqueFd Orphan(const std::string& mark, const char* seconds, pid_t* parent) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  *parent = fork();
  if (*parent == 0) {
    setpgid(0, 0);
    const pid_t child = fork();
    if (child == 0) Sleep(mark, seconds);
    if (write(ends[1], &child, sizeof child) != sizeof child) _exit(1);
    _exit(0);
  }
  pid_t child = 0;
  EXPECT_EQ(read(ends[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  EXPECT_TRUE(pidfd);
  EXPECT_EQ(waitpid(*parent, nullptr, 0), *parent);
  close(ends[1]);
  char more;
  EXPECT_EQ(read(ends[0], &more, 1), 0) << "the last writer's end closes when it executes";
  close(ends[0]);
  return pidfd;
}

class ProcessTreeTest : public ::testing::Test, public ChildKeeper {
 protected:
  bool Knows(pid_t child) const override { return child == known_; }
  void Reap(UniqueFd orphan) override {
    siginfo_t info;
    waitid(P_PIDFD, static_cast<id_t>(orphan.get()), &info, WEXITED | WNOHANG);
    ++reaped_;
  }
  bool KillLeft(pid_t tenant) { return KillLeftBehind(tenant, mark_, this); }

  const std::string mark_ = NewTenantMark();
  pid_t known_ = -1;
  int reaped_ = 0;
};

TEST_F(ProcessTreeTest, OrphansAreAdoptedKilledAndReaped) {
  AdoptOrphans();
  pid_t parent = 0;
  const UniqueFd left = Orphan(mark_, "1000", &parent), others = Orphan("A=B", "1000", &parent);
  EXPECT_TRUE(KillLeft(parent));
  EXPECT_TRUE(HasEnded(left, 0));
  EXPECT_EQ(reaped_, 1);
  EXPECT_FALSE(HasEnded(others, 0));
  siginfo_t info{};
  syscall(SYS_pidfd_send_signal, others.get(), SIGKILL, nullptr, 0);
  EXPECT_EQ(waitid(P_PIDFD, static_cast<id_t>(others.get()), &info, WEXITED), 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "some child is left";
}

// Whatever moment of its end it is in: it has no environment any more, and its child no other parent
// yet, or has just got one.
TEST_F(ProcessTreeTest, WhatADyingProcessLeavesIsKilled) {
  AdoptOrphans();
  for (int i = 0; i < 100; ++i) {
    const pid_t dying = fork();
    if (dying == 0) {
      std::string variable = mark_;
      char* const environment[] = {variable.data(), nullptr};
      execle("/bin/sh", "sh", "-c", "sleep 1000 & wait", nullptr, environment);
      _exit(1);
    }
    std::vector<pid_t> left;
    while (left.empty()) left = ChildrenOf(dying);
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, left.front(), 0)));
    kill(dying, SIGKILL);
    // Nothing is waited for: each time it is a bit further on.
    std::this_thread::sleep_for(std::chrono::microseconds(2 * i));
    EXPECT_TRUE(KillLeft(dying));
    ASSERT_TRUE(HasEnded(pidfd, 0)) << i;
    waitpid(dying, nullptr, 0);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "some child is left";
}

// As if this process had been born with the mark.
void BearMark(const std::string& mark) {
  const std::optional<ProcessStat> stat = ProcessStat::Of("self");
  const int64_t begin = stat->Number(ProcessStat::kEnvironmentBegin);
  if (stat->Number(ProcessStat::kEnvironmentEnd) - begin <= static_cast<int64_t>(mark.size()))
    _exit(2);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells where it is.
  std::memcpy(reinterpret_cast<char*>(begin), mark.c_str(), mark.size() + 1);
}

// Its first thread, of which /proc shows the environment, has ended; it computes on by another.
TEST_F(ProcessTreeTest, WhoGoesOnWithoutItsFirstThreadIsKilled) {
  AdoptOrphans();
  const pid_t child = fork();
  if (child == 0) {
    BearMark(mark_);
    std::thread([] { pause(); }).detach();
    syscall(SYS_exit, 0);  // Of this thread alone.
  }
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  while (ProcessStat::Of(child)->Text(ProcessStat::kState) != "Z") std::this_thread::yield();
  EXPECT_FALSE(HasEnded(pidfd, 0));
  EXPECT_TRUE(KillLeft(child + 1));
  EXPECT_TRUE(HasEnded(pidfd, 0));
  EXPECT_EQ(reaped_, 1);
  syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0);  // Where the test has failed.
}

// Such as another tenant with the same environment as this one: nobody looks at it.
TEST_F(ProcessTreeTest, WhoIsKnownStays) {
  AdoptOrphans();
  known_ = fork();
  if (known_ == 0) Sleep(mark_, "1000");
  EXPECT_TRUE(KillLeft(known_ + 1));
  EXPECT_EQ(kill(known_, SIGKILL), 0);
  EXPECT_EQ(waitpid(known_, nullptr, 0), known_);
  EXPECT_EQ(reaped_, 0);
}

TEST_F(ProcessTreeTest, OrphansThatEndedByThemselvesAreReaped) {
  AdoptOrphans();
  pid_t parent = 0;
  const UniqueFd left = Orphan(mark_, "0", &parent);
  ASSERT_TRUE(HasEnded(left, kSeconds * 1000));
  EXPECT_TRUE(KillLeft(parent));
  EXPECT_EQ(reaped_, 1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "some child is left";
}

// One that is not below this process shows where was looked: it bears the mark all the same.
TEST_F(ProcessTreeTest, WhoAdoptsLooksAtItsOwnProcessesOnly) {
  pid_t parent = 0;
  UniqueFd elsewhere;
  {
    const testing::NoAdoptionScope nobody;
    elsewhere = Orphan(mark_, "1000", &parent);
  }
  AdoptOrphans();
  EXPECT_TRUE(KillLeft(parent));
  EXPECT_FALSE(HasEnded(elsewhere, 0));
  {
    const testing::NoAdoptionScope nobody;
    EXPECT_TRUE(KillLeft(parent));
    EXPECT_TRUE(HasEnded(elsewhere, 0));
  }
  EXPECT_EQ(reaped_, 0);
}

}  // namespace
}  // namespace cosched
