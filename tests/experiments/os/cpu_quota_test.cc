#include "experiments/os/cpu_quota.h"

#include <gtest/gtest.h>

#include "engine/base/topology.h"
#include "experiments/os/owner.h"
#include "tests/experiments/cli/cli_fixture.h"
#include "tests/experiments/os/fake_quotas.h"

namespace cosched {
namespace {

namespace fs = std::filesystem;
using testing::Test;

class CpuQuotaTest : public Test, protected FakeQuotas {
 protected:
  std::string Quota() const {
    const std::optional<CpuQuota> quota = TightestQuota(mounts);
    return quota ? Describe(*quota) : "none";
  }
  std::string Of(const std::string& cores, const std::string& group) const {
    const fs::path where = group.empty() ? Root() : Root() / group;
    return cores + " (cgroup " + where.string() + ")";
  }
};

TEST_F(CpuQuotaTest, OfVersion2HoldAlsoForGroupsBelow) {
  UseVersion2("/user.slice/job.scope");
  EXPECT_EQ(Quota(), "none");
  SetVersion2("user.slice/job.scope", "max 100000");
  SetVersion2("user.slice", "150000 100000");
  EXPECT_EQ(Quota(), Of("1.5 cores", "user.slice"));
  SetVersion2("user.slice/job.scope", "50000 50000");
  EXPECT_EQ(Quota(), Of("1 core", "user.slice/job.scope"));
  SetVersion2("other.slice", "1000 100000");  // Not above it.
  EXPECT_EQ(Quota(), Of("1 core", "user.slice/job.scope"));
}

TEST_F(CpuQuotaTest, ThereIsTimeForSoManyThreadsByEachRule) {
  UseVersion2("/user.slice/job.scope");
  for (const FollowRule rule : {FollowRule::kCeil, FollowRule::kFloor, FollowRule::kOwn})
    EXPECT_EQ(ThreadsInQuota(rule, mounts), std::nullopt) << ToString(rule);
  SetVersion2("user.slice", "250000 100000");
  EXPECT_EQ(ThreadsInQuota(FollowRule::kCeil, mounts), 3);
  EXPECT_EQ(ThreadsInQuota(FollowRule::kFloor, mounts), 2);
  EXPECT_EQ(ThreadsInQuota(FollowRule::kOwn, mounts), std::nullopt);
  EXPECT_EQ(ThreadsInQuota(FollowRule::kKeep, mounts), std::nullopt);
  SetVersion2("user.slice/job.scope", "350000 100000");
  EXPECT_EQ(ThreadsInQuota(FollowRule::kOwn, mounts), 4);
}

TEST_F(CpuQuotaTest, OfVersion1HoldAlsoForGroupsBelow) {
  UseVersion1("/slurm/job_7");
  SetVersion1("slurm/job_7", "-1");
  SetVersion1("slurm", "-1");
  EXPECT_EQ(Quota(), "none");
  SetVersion1("slurm", "250000");
  EXPECT_EQ(Quota(), Of("2.5 cores", "slurm"));
}

// The container's own group is the top of what it sees, by whatever name.
TEST_F(CpuQuotaTest, OfAContainerAreSeenFromInside) {
  SetVersion2("", "400000 100000");
  UseVersion2("/");
  EXPECT_EQ(Quota(), Of("4 cores", ""));
  UseVersion2("/../..");  // The process is outside of what is mounted.
  EXPECT_EQ(Quota(), Of("4 cores", ""));
  mounts.v2.reset();
  SetVersion1("", "300000");
  UseVersion1("/docker/7", "/docker/7");
  fs::remove(Root() / "cpu.max");
  EXPECT_EQ(Quota(), Of("3 cores", ""));
}

TEST_F(CpuQuotaTest, WithoutACpuControllerThereAreNone) {
  WriteText(Root() / "cgroup.controllers", "memory\n");
  mounts.v2 = CgroupMounts::Mount{"/", Root()};
  SetVersion2("", "400000 100000");
  EXPECT_EQ(Quota(), "none");
  EXPECT_TRUE(QuotaWatch(64, mounts).Marks().empty());
}

TEST_F(CpuQuotaTest, BelowTheCoresAreMarked) {
  UseVersion2("/a/b");
  SetVersion2("a", "400000 100000");
  EXPECT_TRUE(QuotaWatch(4, mounts).Marks().empty());
  const std::vector<std::string> marks = QuotaWatch(64, mounts).Marks();
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0], "the CPU quota is " + Of("4 cores", "a") + ", the experiment has 64 cores");
}

TEST_F(CpuQuotaTest, ThatAreUsedUpMeanwhileAreMarked) {
  UseVersion2("/a/b");
  SetVersion2("a", "400000 100000");
  WriteText(Root() / "a" / "cpu.stat", "usage_usec 9\nnr_throttled 5\nthrottled_usec 700000\n");
  const QuotaWatch watch(4, mounts);
  EXPECT_TRUE(watch.Marks().empty());  // Throttled before the watch began.
  WriteText(Root() / "a" / "cpu.stat", "usage_usec 9\nnr_throttled 8\nthrottled_usec 950000\n");
  ASSERT_EQ(watch.Marks().size(), 1U);
  EXPECT_EQ(watch.Marks()[0], "the kernel stopped the processes of cgroup " +
                                  (Root() / "a").string() +
                                  " 3 times, for 0.25 s in all, because its CPU quota was used up");
}

TEST_F(CpuQuotaTest, Version1CountsNanoseconds) {
  UseVersion1("/a");
  SetVersion1("a", "400000");
  const QuotaWatch watch(4, mounts);
  WriteText(Root() / "a" / "cpu.stat", "nr_periods 9\nnr_throttled 1\nthrottled_time 40000000\n");
  ASSERT_EQ(watch.Marks().size(), 1U);
  EXPECT_NE(watch.Marks()[0].find(" 1 times, for 0.04 s"), std::string::npos) << watch.Marks()[0];
}

// A run inside a group with a quota, as a user of `docker --cpus 0.5` has it.
TEST_F(CliTest, AQuotaIsToldAtTheStartByDoctorAndInEveryCell) {
  const Cgroup::Support support = Cgroup::Probe();
  if (!support.quota) GTEST_SKIP() << support.why_not;
  Cgroup group = Cgroup::Create(OwnerName() + "-quota", Topology::ThisMachine().Cpus(), true);
  group.SetLimit(CpuLimit{{500}});
  const auto enter = [&group] {
    group.Attach(getpid());
    return true;
  };
  const Ended doctor = Wait(Start({"doctor"}, enter));
  EXPECT_NE(doctor.out.find("note     CPU quota      0.5 cores (cgroup "), std::string::npos)
      << doctor.out;
  const Ended ended = Wait(Start({"run", "x.toml", "--no-plots"}, enter));
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("the CPU quota is 0.5 cores (cgroup "), std::string::npos) << ended.err;
  const std::string cell = ReadText(Runs().front() / "strict/malleable/1/cell.json");
  EXPECT_NE(cell.find("the CPU quota is 0.5 cores"), std::string::npos) << cell;
  Cgroup::RemoveOf(OwnerName());  // With what the run has made below it.
}

}  // namespace
}  // namespace cosched
