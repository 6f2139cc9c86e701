#include "experiments/os/process_stat.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace cosched {
namespace {

TEST(ProcessStatTest, FieldsAreThoseOfTheKernelWhateverTheProcessIsCalled) {
  char before[16];
  prctl(PR_GET_NAME, before);
  for (const char* const name : {"plain", ") Z 1 (2", "two\nlines"}) {
    prctl(PR_SET_NAME, name);
    const std::optional<ProcessStat> stat = ProcessStat::Of(getpid());
    ASSERT_TRUE(stat);
    EXPECT_EQ(stat->Number(ProcessStat::kParent), getppid());
    EXPECT_EQ(stat->Number(ProcessStat::kGroup), getpgrp());
    EXPECT_EQ(stat->Number(ProcessStat::kSession), getsid(0));
    EXPECT_FALSE(stat->HasEnded());
    EXPECT_LT(stat->Number(ProcessStat::kEnvironmentBegin),
              stat->Number(ProcessStat::kEnvironmentEnd));
    EXPECT_EQ(ProcessStat::Of("self")->Text(ProcessStat::kStartTime),
              stat->Text(ProcessStat::kStartTime));
  }
  prctl(PR_SET_NAME, before);
}

TEST(ProcessStatTest, WhoWaitsToBeReapedHasEnded) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ProcessStat::Of(child)->HasEnded());
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(ProcessStat::Of(child)) << "nobody has that number any more";
}

// Reading what was opened fails then (ESRCH).
TEST(ProcessStatTest, WhoIsReapedInTheMiddleOfALookIsGone) {
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    std::atomic<bool> looks = false;
    std::jthread looker([&] {
      while (ProcessStat::Of(child)) looks = true;
      looks = true;
    });
    while (!looks) std::this_thread::yield();
    EXPECT_EQ(waitpid(child, nullptr, 0), child);
  }
}

// It has ended when all its threads have.
TEST(ProcessStatTest, AProcessWhoseFirstThreadHasEndedGoesOn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      char ignored;
      _exit(read(ends[0], &ignored, 1) == 1 ? 0 : 1);
    }).detach();
    syscall(SYS_exit, 0);  // Of this thread alone.
  }
  while (ProcessStat::Of(child)->Text(ProcessStat::kState) != "Z") std::this_thread::yield();
  EXPECT_FALSE(ProcessStat::Of(child)->HasEnded());
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(ProcessStat::Of(child)->HasEnded());
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace cosched
