// A second run on cores in use is refused, with the name of the first.

#include "experiments/os/core_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/experiments/cli/cli_fixture.h"
#include "tests/paths.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

class CoreLockTest : public testing::Test {
 protected:
  CoreLock Lock(const CpuSet& cores, const std::string& run) {
    return CoreLock(cores, run, folder_.path());
  }
  fs::path File() const {
    for (const auto& entry : fs::directory_iterator(folder_.path())) return entry.path();
    return {};
  }

  const TemporaryFolder folder_;
};

TEST_F(CoreLockTest, TellsWhoHasTheCores) {
  CoreLock first = Lock({0, 1}, "about to begin");
  EXPECT_TRUE(first.others().empty());
  EXPECT_EQ(first.problem(), "");
  first.SetRun("/home/ada/results/x/20261122-160211");
  const CoreLock second = Lock({1, 2}, "b");
  ASSERT_EQ(second.others().size(), 1U);
  const CoreUser& user = second.others()[0];
  EXPECT_EQ(user.cores, CpuSet{1});
  EXPECT_EQ(user.process, getpid());
  EXPECT_EQ(user.run, "/home/ada/results/x/20261122-160211");
  EXPECT_TRUE(
      Describe(user).starts_with(user.run + " (process " + std::to_string(getpid()) + ", since 20"))
      << Describe(user);
}

TEST_F(CoreLockTest, NamesEachOtherRunOnceWithItsCores) {
  const CoreLock a = Lock({0, 1}, "a"), b = Lock({3}, "b");
  const CoreLock c = Lock(CpuSet::Range(0, 5), "c");
  ASSERT_EQ(c.others().size(), 2U);
  EXPECT_EQ(c.others()[0].cores, (CpuSet{0, 1}));
  EXPECT_EQ(c.others()[1].cores, CpuSet{3});
  // Run c holds the rest.
  const CoreLock d = Lock({4, 5}, "d");
  ASSERT_EQ(d.others().size(), 1U);
  EXPECT_EQ(d.others()[0].run, "c");
}

TEST_F(CoreLockTest, OtherCoresAndCoresThatWereLeftAreFree) {
  const CoreLock a = Lock({0, 1}, "a");
  EXPECT_TRUE(Lock({2, 3}, "b").others().empty());
  EXPECT_TRUE(Lock({2, 3}, "c").others().empty());
  EXPECT_TRUE(Lock({4095}, "d").others().empty());
  EXPECT_TRUE(Lock({}, "e").others().empty());
}

// A run that came with --force holds no place; it must not be forgotten when the first one ends.
TEST_F(CoreLockTest, AForcedRunIsSeenWhenTheFirstHasEnded) {
  auto first = std::make_unique<CoreLock>(Lock({0}, "first"));
  CoreLock forced = Lock({0}, "forced");
  ASSERT_EQ(forced.others().size(), 1U);
  forced.Insist();
  first = nullptr;
  const CoreLock third = Lock({0, 1}, "third");
  ASSERT_EQ(third.others().size(), 1U);
  EXPECT_EQ(Describe(third.others()[0]), "a run that --force let in");
  EXPECT_EQ(third.others()[0].cores, CpuSet({0}));
}

TEST_F(CoreLockTest, ARunThatWasKilledIsNoObstacle) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const CoreLock lock = Lock({0}, "killed");
    if (write(ready[1], "x", 1) != 1) _exit(1);
    while (true) pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  {
    const CoreLock lock = Lock({0}, "next");
    ASSERT_EQ(lock.others().size(), 1U);
    EXPECT_EQ(lock.others()[0].run, "killed");
    EXPECT_EQ(lock.others()[0].process, child);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Lock({0}, "next").others().empty());
}

TEST_F(CoreLockTest, TheFileIsForAllUsersWhateverTheUmask) {
  const mode_t before = umask(0077);
  const CoreLock lock = Lock({0}, "a");
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(File().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0666U);
}

TEST_F(CoreLockTest, TrapsAreNotOpened) {
  fs::path file;
  {
    const CoreLock lock = Lock({0}, "a");
    file = File();
  }
  const fs::path victim = folder_.path() / "victim";
  WriteText(victim, "dear");
  fs::remove(file);
  fs::create_symlink(victim, file);
  EXPECT_NE(Lock({0}, "a").problem().find("symbolic links"), std::string::npos)
      << Lock({0}, "a").problem();
  fs::remove(file);
  fs::create_hard_link(victim, file);
  EXPECT_NE(Lock({0}, "a").problem().find("second name"), std::string::npos);
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
  EXPECT_NE(Lock({0}, "a").problem().find("no plain file"), std::string::npos);
  EXPECT_EQ(ReadText(victim), "dear");
  EXPECT_NE(CoreLock({0}, "a", folder_.path() / "nowhere").problem(), "");
  EXPECT_NE(CoreLock({0}, "a", fs::path()).problem(), "");
}

TEST_F(CoreLockTest, WhatOthersWroteIsShownAsOneHarmlessLine) {
  const CoreLock a = Lock({0}, "\x1b[2J\x1b]0;evil\x07");
  const CoreLock b = Lock({0}, "b");
  ASSERT_EQ(b.others().size(), 1U);
  EXPECT_EQ(b.others()[0].run, "?[2J?]0;evil?");
  const CoreLock c = Lock({1}, std::string(5000, 'x') + "/the-end");
  const CoreLock d = Lock({1}, "d");
  EXPECT_TRUE(d.others()[0].run.ends_with("x/the-end"));
  EXPECT_LT(d.others()[0].run.size(), 400U);
}

// --- As a user meets it. The fixture's experiment runs on core 0.

TEST_F(CliTest, ASecondRunOnTheSameCoresIsRefusedWithTheNameOfTheFirst) {
  const CoreLock first({0}, "/home/ada/results/x/1", folder_.path());
  ExpectRefused({"run", "x.toml", "--no-plots"},
                {"this machine: core 0 is in use by /home/ada/results/x/1 (process ", "--force"});
  WriteText(folder_.path() / "profile.json", "");
  ExpectRefused({"calibrate", "--workloads", "lenet5", "--out", "p.json"},
                {"in use by /home/ada/results/x/1"});
}

TEST_F(CliTest, ForceRunsBesideAnotherAndMarksEveryCell) {
  const CoreLock first({0}, "/home/ada/results/x/1", folder_.path());
  const Ended ended = Run({"run", "x.toml", "--no-plots", "--force"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("core 0 is in use by /home/ada/results/x/1"), std::string::npos)
      << ended.err;
  const std::string cell = ReadText(Runs().front() / "strict/malleable/1/cell.json");
  EXPECT_NE(cell.find("core 0 was in use by /home/ada/results/x/1"), std::string::npos) << cell;
}

TEST_F(CliTest, ARunNamesItselfToTheNext) {
  const pid_t run = Start({"run", "x.toml", "--no-plots", "--set", "workload.lenet5.steps=100000"});
  const fs::path runs = folder_.path() / "results" / "x";
  // A run has its cores before it makes its folder: who asks earlier might take them from it.
  for (int i = 0; i < 60'000 && !fs::exists(runs); ++i) usleep(1000);
  ASSERT_TRUE(fs::exists(runs));
  CoreUser user;
  for (int i = 0; i < 60'000 && user.run.find("/results/x/") == std::string::npos; ++i) {
    usleep(1000);
    const CoreLock next({0}, "next", folder_.path());
    ASSERT_EQ(next.others().size(), 1U);
    user = next.others()[0];
  }
  EXPECT_EQ(user.process, run);
  EXPECT_EQ(user.run, Runs().front().string());
  kill(run, SIGINT);
  EXPECT_EQ(Wait(run).exit_code, 130);
  EXPECT_TRUE(CoreLock({0}, "next", folder_.path()).others().empty());
}

TEST_F(CliTest, SimulatedRunsTakeNoCores) {
  const CoreLock first(Topology::ThisMachine().Cpus(), "a run", folder_.path());
  const Ended ended = Run({"run", InSource("experiments/examples/simulated.toml"), "--no-plots",
                           "--policy", "strict", "--trials", "1", "--set", "trace.jobs=3"});
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
}

}  // namespace
}  // namespace cosched
