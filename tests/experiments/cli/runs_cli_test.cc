// cosched runs: what there is, and its removal.

#include <sys/file.h>

#include "engine/base/unique_fd.h"
#include "tests/experiments/cli/cli_fixture.h"

namespace cosched {
namespace {

class RunsCliTest : public CliTest {
 protected:
  std::string MakeRun() {
    const Ended ran = Run({"run", "x.toml", "--no-plots"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return "results/x/" + Runs().front().filename().string();
  }
};

TEST_F(RunsCliTest, AreListedShownSentAndRemoved) {
  EXPECT_EQ(Run({"runs", "list"}).out, "there is no run below results\n");
  const std::string run = MakeRun();
  const Ended list = Run({"runs", "list"});
  EXPECT_NE(list.out.find(run), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("done     1/1"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("\n1 run, "), std::string::npos) << list.out;
  const Ended shown = Run({"runs", "show", "x"});
  EXPECT_NE(shown.out.find("x.toml --no-plots"), std::string::npos) << shown.out;

  EXPECT_EQ(Run({"runs", "export", run, "x.zip"}).exit_code, 0);
  const Ended imported = Run({"runs", "import", "x.zip", "--out", "other"});
  EXPECT_EQ(imported.out, "other" + run.substr(7) + "\n") << imported.err;
  EXPECT_EQ(
      Run({"compare", imported.out.substr(0, imported.out.size() - 1), "--no-plots"}).exit_code, 0);

  EXPECT_EQ(Run({"runs", "rm", run}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / run));
}

TEST_F(RunsCliTest, OnlyRunsAreRemoved) {
  const std::string run = MakeRun();
  for (const char* other : {".", "results", "results/x", "x.toml", "nowhere"}) {
    const Ended ended = Run({"runs", "rm", run, other});
    EXPECT_EQ(ended.exit_code, 2) << other;
    EXPECT_NE(ended.err.find("is no run"), std::string::npos) << ended.err;
    EXPECT_TRUE(std::filesystem::exists(folder_.path() / run / "manifest.json")) << other;
  }
}

// As one that is over, of which --redo-marked runs cells anew.
TEST_F(RunsCliTest, WhatAProcessRunsIsNeitherRemovedNorSent) {
  const std::string run = MakeRun();
  const UniqueFd held(open((folder_.path() / run).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(flock(held.get(), LOCK_EX), 0);
  EXPECT_NE(Run({"runs", "list"}).out.find("running  1/1"), std::string::npos);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"runs", "rm", run}, {"runs", "export", run, "x.zip"}}) {
    const Ended ended = Run(wrong);
    EXPECT_EQ(ended.exit_code, 2) << ended.out;
    EXPECT_NE(ended.err.find("is running"), std::string::npos) << ended.err;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / run / "manifest.json"));
}

TEST_F(RunsCliTest, AreWatchedAtANumberOfSeconds) {
  const std::string run = MakeRun();
  EXPECT_EQ(Run({"watch", run, "--once", "--at", "0"}).exit_code, 0);
  for (const char* at : {"nan", "inf", "-1", "1e9"}) {
    const Ended ended = Run({"watch", run, "--once", "--at", at});
    EXPECT_EQ(ended.exit_code, 2) << at << ended.out;
    EXPECT_NE(ended.err.find("--at"), std::string::npos) << ended.err;
  }
}

// The folder of somebody else's program may have such a file, too.
TEST_F(RunsCliTest, AnothersManifestIsNoRun) {
  WriteText(folder_.path() / "app" / "manifest.json", R"({"name": "an app"})");
  const Ended ended = Run({"runs", "rm", "app"});
  EXPECT_EQ(ended.exit_code, 2) << ended.out;
  EXPECT_NE(ended.err.find("is not of cosched"), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "app" / "manifest.json"));
}

TEST_F(RunsCliTest, ADamagedRunHidesNoOther) {
  const std::string run = MakeRun();
  WriteText(folder_.path() / "results/x/20261128T120000Z-0001/manifest.json", "");
  WriteText(folder_.path() / run / "strict/malleable/1/cell.json", "{");
  const Ended list = Run({"runs", "list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_NE(list.out.find("20261128T120000Z-0001"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("damaged"), std::string::npos) << list.out;
  EXPECT_NE(list.out.find(run), std::string::npos) << list.out;
  EXPECT_NE(list.out.find("2 runs, "), std::string::npos) << list.out;
}

TEST_F(RunsCliTest, APointOfASweepIsNotRemoved) {
  const Ended ran = Run({"run", "x.toml", "--no-plots", "--set", "sweep.trace.jobs=[1, 2]"});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::filesystem::path run = Runs().front();
  const std::string point = (run / "jobs=1").string();
  ASSERT_TRUE(std::filesystem::exists(point)) << ran.out;
  const Ended ended = Run({"runs", "rm", point});
  EXPECT_EQ(ended.exit_code, 2) << ended.out;
  EXPECT_NE(ended.err.find("is a point of a sweep"), std::string::npos) << ended.err;
  EXPECT_TRUE(std::filesystem::exists(point));
}

}  // namespace
}  // namespace cosched
