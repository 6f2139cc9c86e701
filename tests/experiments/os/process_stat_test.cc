#include "experiments/os/process_stat.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace cosched
