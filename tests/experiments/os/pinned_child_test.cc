#include "experiments/os/pinned_child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace cosched {
namespace {

pid_t StartSleeper() {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  return child;
}

TEST(PinnedChildTest, TellsOfTheChildsEnd) {
  const pid_t child = StartSleeper();
  ASSERT_GT(child, 0);
  const UniqueFd pidfd = PinChild(child);
  pollfd end{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 0), 0);
  kill(child, SIGKILL);
  EXPECT_EQ(poll(&end, 1, 10'000), 1);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

TEST(PinnedChildTest, AChildThatCannotBePinnedIsEndedAndReaped) {
  const pid_t child = StartSleeper();
  ASSERT_GT(child, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  int error = 0;
  try {
    PinChild(child);
  } catch (const std::system_error& failed) {
    error = failed.code().value();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(error, EMFILE);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace cosched
