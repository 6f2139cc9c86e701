#include "experiments/os/capture.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>

#include "experiments/os/interrupt.h"

namespace cosched {
namespace {

TEST(CaptureTest, NeedsNoShell) {
  EXPECT_EQ(Capture({"/usr/bin/printf", "%s", "it's $(id) \"x\""}), "it's $(id) \"x\"");
}

TEST(CaptureTest, AFailureSaysWhy) {
  std::string said;
  EXPECT_FALSE(Capture({"/bin/sh", "-c", "echo why >&2; exit 3"}, &said));
  EXPECT_EQ(said, "why\n");
  said.clear();
  EXPECT_FALSE(Capture({"/nonexistent"}, &said));
  EXPECT_EQ(said, "/nonexistent: No such file or directory");
}

TEST(CaptureTest, WhatDoesNotEndIsKilled) {
  std::string said;
  EXPECT_FALSE(Capture({"/bin/sleep", "1000"}, &said, std::chrono::seconds(0)));
  EXPECT_EQ(said, "/bin/sleep did not end within 0 s");
}

// As the terminal sends it, to the whole group: what has been begun with a service is then known.
TEST(CaptureTest, ASignalToTheCallerDoesNotReachIt) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    const SignalScope signals(SignalScope::Second::kEnds);
    const std::optional<std::string> text =
        Capture({"/bin/sh", "-c", "kill -s INT -- -$PPID && echo job"});
    _exit(!Interrupted() ? 1 : text != "job\n" ? 2 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace cosched
