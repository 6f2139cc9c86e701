// A tenant whose limits change above its own cgroup, on this kernel: a pod's or a slice's, of which its
// container's group is a child.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "experiments/os/cgroup.h"
#include "experiments/os/owner.h"
#include "experiments/tenant/cpu_limit_watch.h"
#include "experiments/tenant/cpuset_watch.h"
#include "experiments/tenant/demand.h"
#include "tests/experiments/temporary_folder.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

// One of two processes that take turns.
class Turn {
 public:
  Turn(int from, int to) : from_(from), to_(to) {}
  ~Turn() {
    for (const int fd : {from_, to_}) close(fd);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  void Pass() const { EXPECT_EQ(write(to_, "", 1), 1) << std::strerror(errno); }
  // False if the other one has ended.
  bool Await() const {
    char byte = 0;
    return read(from_, &byte, 1) == 1;
  }

 private:
  const int from_, to_;
};

class GroupAboveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Cgroup::Support support = Cgroup::Probe();
    if (!support.quota || !support.cpuset) GTEST_SKIP() << support.why_not;
  }

  // Runs `tenant` in a child, in a group within group_, and `platform` here, which has the first turn.
  // The child's exit code.
  int Run(const std::function<int(const Turn&)>& tenant,
          const std::function<void(const Turn&)>& platform) {
    int to_child[2], to_parent[2];
    EXPECT_EQ(pipe(to_child), 0);
    EXPECT_EQ(pipe(to_parent), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(to_child[1]);
      close(to_parent[0]);
      const Turn turn(to_child[0], to_parent[1]);
      _exit(turn.Await() ? tenant(turn) : kNoTurn);
    }
    close(to_child[0]);
    close(to_parent[1]);
    {
      const Turn turn(to_parent[0], to_child[1]);
      group_.emplace(Cgroup::Create(OwnerName() + "-abovetest", all_, /*quota=*/true));
      EnterWithin(child);
      turn.Pass();
      platform(turn);
    }
    int status = -1;
    waitpid(child, &status, 0);
    for (const fs::path& inner : inner_) fs::remove(inner);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static constexpr int kNoTurn = 100;
  const CgroupMounts mounts_ = CgroupMounts::Here();
  const CpuSet all_ = FirstCores(Topology::ThisMachine().Cpus(), 2), one_ = FirstCores(all_, 1);
  std::optional<Cgroup> group_;

 private:
  void EnterWithin(pid_t process) {
    group_->Attach(process);
    for (const char* controller : {"cpuset", "cpu"})
      inner_.insert(GroupsAbove(controller, mounts_, std::to_string(process)).front() / "inner");
    for (const fs::path& inner : inner_) {
      fs::create_directory(inner);
      // Version 1 lets nobody into a cpuset that has none of these.
      for (const char* file : {"cpuset.cpus", "cpuset.mems"}) {
        if (mounts_.v1.contains("cpuset") && fs::exists(inner / file))
          WriteText(inner / file, ReadText(inner.parent_path() / file));
      }
      WriteText(inner / "cgroup.procs", std::to_string(process));
    }
  }

  std::set<fs::path> inner_;
};

TEST_F(GroupAboveTest, ItsQuotaIsHeardOfAtOnce) {
  const int code = Run(
      [](const Turn& turn) {
        CpuLimitWatch watch;
        if (watch.Threads() == 1) return 1;
        turn.Pass();
        // At one moment, so that it only sees what it has heard of. (A file may be heard of before what
        // is written is there, and then again.)
        const auto now = std::chrono::steady_clock::now();
        do {
          pollfd written{watch.fd(), POLLIN, 0};
          if (poll(&written, 1, -1) != 1) return 2;
          watch.Drain();
        } while (!watch.Look(now));
        return watch.Threads() == 1 ? 0 : 3;
      },
      [this](const Turn& turn) {
        if (turn.Await()) group_->SetLimit(CpuLimit{{900}});
      });
  EXPECT_EQ(code, 0);
}

TEST_F(GroupAboveTest, ItsCpusetIsSeenWhenTheTenantLooks) {
  if (all_.Count() < 2) GTEST_SKIP() << "needs two cores";
  if (mounts_.v1.contains("cpuset"))
    GTEST_SKIP() << "in cgroup version 1 no cpuset becomes smaller than one in it";
  const int code = Run(
      [this](const Turn& turn) {
        const Topology topology = Topology::ThisMachine();
        CpusetWatch watch(topology);
        if (watch.Mask() != all_) return 1;
        for (const CpuSet& cores : {one_, all_}) {
          turn.Pass();
          while (!watch.Look()) poll(nullptr, 0, static_cast<int>(CpusetWatch::kPeriod.count()));
          if (watch.Mask() != cores) return 2;
        }
        return 0;
      },
      [this](const Turn& turn) {
        for (const CpuSet& cores : {one_, all_})
          if (turn.Await()) group_->SetCores(cores);
      });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace cosched
