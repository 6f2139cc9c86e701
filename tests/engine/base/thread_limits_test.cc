#include "engine/base/thread_limits.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cosched {
namespace {

namespace fs = std::filesystem;

// Files that play /proc and the cgroups.
class ThreadLimitsTest : public testing::Test {
 protected:
  ThreadLimitsTest() {
    std::string pattern = testing::TempDir() + "thread_limits.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Write("proc/self/cgroup", "0::/user.slice/libpod-7\n");
  }
  ~ThreadLimitsTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::optional<int64_t> OfCgroup() const {
    return LimitsOfThreads(folder_ / "proc", folder_ / "cgroup").cgroup;
  }

 private:
  fs::path folder_;
};

TEST_F(ThreadLimitsTest, LeastOfAllGroupsAboveCounts) {
  EXPECT_EQ(OfCgroup(), std::nullopt);
  Write("cgroup/user.slice/libpod-7/pids.max", "max\n");
  EXPECT_EQ(OfCgroup(), std::nullopt);
  Write("cgroup/user.slice/pids.max", "2048\n");
  EXPECT_EQ(OfCgroup(), 2048);
  Write("cgroup/user.slice/libpod-7/pids.max", "4096\n");
  EXPECT_EQ(OfCgroup(), 2048);
  Write("cgroup/user.slice/libpod-7/pids.max", "100\n");
  EXPECT_EQ(OfCgroup(), 100);
}

TEST_F(ThreadLimitsTest, ContainerSeesItsOwnAtTheRoot) {
  Write("cgroup/pids.max", "30\n");
  EXPECT_EQ(OfCgroup(), 30);
}

TEST_F(ThreadLimitsTest, Version1HasAFolderOfItsOwn) {
  Write("proc/self/cgroup", "7:cpu,cpuacct:/a\n8:pids:/a\n0::/\n");
  Write("cgroup/cpu,cpuacct/a/pids.max", "3\n");
  Write("cgroup/pids/a/pids.max", "50\n");
  EXPECT_EQ(OfCgroup(), 50);
}

TEST(ThreadLimits, LeastOfBothAndItsText) {
  EXPECT_EQ(ThreadLimits().Least(), std::nullopt);
  EXPECT_EQ(ThreadLimits().ToString(), "ulimit -u unlimited");
  const ThreadLimits both{.user = 4096, .cgroup = 2048};
  EXPECT_EQ(both.Least(), 2048);
  EXPECT_EQ(both.ToString(), "ulimit -u 4096, pids.max 2048");
  EXPECT_EQ(ThreadLimits({.user = 7, .cgroup = {}}).Least(), 7);
}

TEST(ThreadLimits, UsersLimitIsItsResourceLimit) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NPROC, &limit), 0);
  const std::optional<int64_t> user = LimitsOfThreads().user;
  if (limit.rlim_cur == RLIM_INFINITY) {
    EXPECT_EQ(user, std::nullopt);
  } else {
    EXPECT_EQ(user, static_cast<int64_t>(limit.rlim_cur));
  }
}

}  // namespace
}  // namespace cosched
