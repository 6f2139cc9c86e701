// A tenant whose limits change above its own cgroup, on this kernel: a pod's or a slice's, of which its
// container's group is a child.

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
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
#include "tests/experiments/tenant/process_in_turns.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;

class GroupAboveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Cgroup::Support support = Cgroup::Probe();
    if (!support.quota || !support.cpuset) GTEST_SKIP() << support.why_not;
  }
  void TearDown() override {
    for (const fs::path& inner : inner_) fs::remove(inner);
  }

  // `tenant` runs in a group within group_, in which it is when its first turn comes.
  int Run(const std::function<int(const Turn&)>& tenant,
          const std::function<void(const Turn&)>& platform) {
    return RunInTurns(tenant, [&](pid_t process, const Turn& turn) {
      group_.emplace(Cgroup::Create(OwnerName() + "-abovetest", all_, /*quota=*/true));
      EnterWithin(process);
      turn.Pass();
      platform(turn);
    });
  }

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
        if (!turn.Await()) return 1;
        const auto start = std::chrono::steady_clock::now();  // It only sees what it has heard of.
        CpuLimitWatch watch;
        if (watch.Threads() == 1) return 2;
        if (!turn.Yield()) return 1;
        pollfd written{watch.fd(), POLLIN, 0};
        if (poll(&written, 1, 0) != 1) return 3;
        watch.Drain();
        if (!watch.Look(start)) return 4;
        return watch.Threads() == 1 ? 0 : 5;
      },
      [this](const Turn& turn) {
        ASSERT_TRUE(turn.Await());
        group_->SetLimit(CpuLimit{{900}});
        turn.Pass();
      });
  EXPECT_EQ(code, 0);
}

TEST_F(GroupAboveTest, ItsCpusetIsSeenWhenTheTenantLooks) {
  if (all_.Count() < 2) GTEST_SKIP() << "needs two cores";
  if (mounts_.v1.contains("cpuset"))
    GTEST_SKIP() << "in cgroup version 1 no cpuset becomes smaller than one in it";
  const int code = Run(
      [this](const Turn& turn) {
        if (!turn.Await()) return 1;
        const Topology topology = Topology::ThisMachine();
        CpusetWatch watch(topology);
        if (watch.Mask() != all_) return 2;
        for (const CpuSet& cores : {one_, all_}) {
          if (!turn.Yield()) return 1;
          if (!watch.Look() || watch.Mask() != cores) return 3;
        }
        return 0;
      },
      [this](const Turn& turn) {
        for (const CpuSet& cores : {one_, all_}) {
          ASSERT_TRUE(turn.Await());
          group_->SetCores(cores);
          turn.Pass();
        }
      });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace cosched
